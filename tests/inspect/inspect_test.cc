// The program, on the plugins that come with the trainer.
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"

namespace slipway {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

Outcome Inspect(const std::vector<std::string>& arguments,
                const std::map<std::string, std::string>& environment = {}) {
  return Process(RunfilePath("trainer/inspect/inspect"), arguments,
                 testing::TempDir(), environment)
      .Wait();
}

json InspectJson(std::vector<std::string> arguments, int exit_code = 0) {
  arguments.push_back("--json");
  const Outcome run = Inspect(arguments);
  EXPECT_EQ(run.exit_code, exit_code) << run.err;
  const json document =
      json::parse(run.out, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(document.is_object()) << run.out;
  EXPECT_EQ(document["schema"], 1);
  return document;
}

// A folder with one plugin's manifest.
std::string FolderOf(const std::string& id, const std::string& more) {
  const std::string folder = EmptyFolder() + "/" + id;
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/plugin.yaml")
      << "schema: 1\nid: " << id << "\nversion: 1.0.0\napi: ^1.0\nlibrary: lib"
      << id << ".so\nsummary: s\nlicense: l\nstatus: stable\n"
      << "hooks: [FitBegin]\n"
      << more << "\n";
  return folder;
}

TEST(Inspect, ListsThePluginsThereAre) {
  const Outcome run = Inspect({});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  const json document = InspectJson({});
  EXPECT_GE(document["plugins"].size(), 7);
  for (const json& plugin : document["plugins"]) {
    EXPECT_THAT(run.out, HasSubstr(plugin["summary"].get<std::string>()));
    EXPECT_EQ(plugin["origin"], "program");
    EXPECT_TRUE(std::filesystem::exists(plugin["library"])) << plugin;
  }
}

TEST(Inspect, TellsWhereAPluginComesFrom) {
  const std::string folder = FolderOf("mine", "");
  const auto origin = [](const Outcome& run) {
    const json document = json::parse(run.out);
    for (const json& plugin : document["plugins"]) {
      if (plugin["id"] == "mine") return plugin["origin"].get<std::string>();
    }
    return std::string("nowhere");
  };
  EXPECT_EQ(origin(Inspect({"--json", "--plugin_path=" + folder})), "flag");
  EXPECT_EQ(origin(Inspect({"--json"}, {{"SLIPWAY_PLUGIN_PATH", folder}})),
            "environment");
  EXPECT_EQ(origin(Inspect({"--json"})), "nowhere");
}

TEST(Inspect, TellsOfAManifestThatIsWrong) {
  const std::string folder = FolderOf("mine", "afterr: [ema]");
  const Outcome run = Inspect({"--plugin_path=" + folder});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("did you mean \"after\"?"));
  EXPECT_THAT(run.out, HasSubstr("ema"));
  const json document = InspectJson({"--plugin_path=" + folder}, 1);
  EXPECT_EQ(document["problems"][0]["kind"], "manifest");
}

TEST(Inspect, DescribesAPlugin) {
  const Outcome run = Inspect({"ema"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("float, 0 to 1, default 0.9999"),
                    HasSubstr("training_hyperparams.ema "),
                    HasSubstr("eval_weights"), HasSubstr("runs after")));
  const json document = InspectJson({"compile"});
  EXPECT_EQ(document["config"]["scope"]["default"], "auto");
  EXPECT_FALSE(document["conflicts"].empty());
}

TEST(Inspect, NamesTheNearestOfAnUnknownPlugin) {
  const Outcome run = Inspect({"emma"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, AllOf(HasSubstr("no plugin \"emma\""),
                             HasSubstr("did you mean \"ema\"?")));
  EXPECT_EQ(Inspect({"--why", "ema", "compil"}).exit_code, 2);
}

TEST(Inspect, ResolvesARecipesPlan) {
  const Outcome run = Inspect({"--plan=digits_all_plugins"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("plan "), HasSubstr("order\n"),
                             HasSubstr("claims\n"), HasSubstr("effects\n"),
                             HasSubstr("AfterOptimizer")));
  const json plan = InspectJson({"--plan=digits_resnet", "ema=True"});
  EXPECT_EQ(plan["claims"]["eval_weights"], "ema");
  EXPECT_THAT(plan["order"]["EvalBegin"], Contains("ema"));
}

TEST(Inspect, ReportsAllThatIsWrongWithAPlan) {
  const std::vector<std::string> arguments = {
      "--plan=digits_resnet", "+plugins.emma={}",
      "+plugins.compile={scope: step, speed: 3}",
      "training_hyperparams.batch_accumulate=2"};
  const Outcome run = Inspect(arguments);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("did you mean \"ema\"?"), HasSubstr("speed"),
                    HasSubstr("accumulation of gradients")));
  const json document = InspectJson(arguments, 1);
  EXPECT_EQ(document["hash"], "");
  EXPECT_GE(document["problems"].size(), 3);
}

TEST(Inspect, RefusesARecipeThatIsNotThere) {
  const Outcome run = Inspect({"--plan=digits_resnett"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("digits_resnett"));
}

TEST(Inspect, ResolvesTheTrainersPlan) {
  const json plan = InspectJson({"--plan=digits_all_plugins", "--device=cpu"});
  const Outcome dry = RunTrainer({"--recipe=digits_all_plugins", "--device=cpu",
                                  "--dry_run", "--format=json"},
                                 EmptyFolder());
  EXPECT_EQ(plan["hash"], json::parse(dry.out)["plan"]["hash"]) << dry.err;
}

TEST(Inspect, TellsWhyTwoMayRunTogether) {
  const Outcome run = Inspect({"--why", "ema", "compile"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("ema and compile may run together"),
                             HasSubstr("ema claims eval_weights")));
  const Outcome step =
      Inspect({"--why", "compile", "syncbn", "plugins.compile.scope=step"},
              {{"WORLD_SIZE", "2"}});
  EXPECT_EQ(step.exit_code, 1);
  EXPECT_THAT(step.out, HasSubstr("compile and syncbn cannot run together"));
  const Outcome model =
      Inspect({"--why", "compile", "syncbn"}, {{"WORLD_SIZE", "2"}});
  EXPECT_EQ(model.exit_code, 0) << model.out;
  EXPECT_THAT(model.out, HasSubstr("not while compile.scope == step: "));
}

TEST(Inspect, TellsWhyTwoMayNot) {
  const std::string folder = FolderOf("swa", "claims: [eval_weights]");
  const std::vector<std::string> arguments = {"--why", "ema", "swa",
                                              "--plugin_path=" + folder};
  const Outcome run = Inspect(arguments);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr("\"eval_weights\" is claimed by ema and by "
                                 "swa; only one may hold it"));
  const json document = InspectJson(arguments, 1);
  EXPECT_EQ(document["together"], false);
  EXPECT_EQ(document["problems"][0]["kind"], "claim");
}

TEST(Inspect, DrawsGraphs) {
  const Outcome plan = Inspect({"--plan=digits_all_plugins", "--graph"});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_THAT(plan.out,
              AllOf(testing::StartsWith("digraph"), HasSubstr("\"ema\""),
                    Not(HasSubstr("\"syncbn\""))));
  EXPECT_THAT(Inspect({"--graph"}).out, HasSubstr("\"syncbn\" -> \"ema\";"));
  EXPECT_THAT(InspectJson({"--graph"})["nodes"], Contains("syncbn"));
}

TEST(Inspect, PrintsTheFieldsOfManifests) {
  EXPECT_THAT(Inspect({"--schema"}).out, HasSubstr("| `hooks` |"));
  EXPECT_THAT(InspectJson({"--schema"})["fields"][1]["name"], "id");
}

TEST(Inspect, HelpsAndRefuses) {
  const Outcome help = Inspect({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.err, HasSubstr("bazel run //trainer:inspect -- ema"));
  const Outcome wrong = Inspect({"--jsn"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean \"json\"?"));
}

}  // namespace
}  // namespace slipway
