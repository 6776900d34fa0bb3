// What bad input gets: a message that tells all, exit code 2 before anything
// was started and 1 after, and nothing half-written.
//
// Each case's message is in testdata/bad_input.golden; golden.h tells how to
// renew it.
#include <regex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"
#include "tests/golden/golden.h"

namespace slipway {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

// Paths that depend on where this runs, cut down to what does not.
std::string Normalized(std::string text, const std::string& folder) {
  const std::string testdata = RunfilePath("tests/e2e/testdata/");
  text = absl::StrReplaceAll(text, {{testdata, ""}, {folder, "FOLDER"}});
  text = std::regex_replace(text, std::regex("[^ \"]*\\.runfiles/[^/]+/"), "");
  return text;
}

struct Case {
  const char* name;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment = {};
};

std::vector<Case> Cases() {
  const std::string own = "--recipe_path=" + RunfilePath("tests/e2e/testdata");
  const std::string digits = "--recipe=digits_resnet";
  return {
      {"no recipe", {}},
      {"an unknown recipe", {"--recipe=digit_resnet"}},
      {"an unknown flag", {digits, "--dryrun"}},
      {"a misspelt key", {digits, "+training_hyperparams.max_epoch=3"}},
      {"a misspelt override", {digits, "training_hyperparams.max_epoch=3"}},
      {"a misspelt plugin", {digits, "+plugins.emma={}"}},
      {"a misspelt model", {digits, "architecture=custom_resnet_cifer"}},
      {"a misspelt data set", {digits, "train_dataloader=digit_train"}},
      {"a misspelt loss",
       {digits, "training_hyperparams.loss=CrossEntropyLos"}},
      {"a misspelt optimizer", {digits, "training_hyperparams.optimizer=SDG"}},
      {"a misspelt schedule", {digits, "training_hyperparams.lr_mode=Cosin"}},
      {"a misspelt metric",
       {digits, "training_hyperparams.valid_metrics_list=[Acuracy]"}},
      {"a metric to watch that nobody measures",
       {digits, "training_hyperparams.metric_to_watch=Top55"}},
      {"a misspelt parameter", {digits, "+arch_params.num_clases=10"}},
      {"a wrong type", {digits, "epochs=many"}},
      {"a wrong range", {digits, "epochs=0"}},
      {"a wrong choice", {digits, "+training_hyperparams.compat=pytorch"}},
      {"a plugin's wrong configuration",
       {digits, "+plugins.ema={decay: 2, dekay: 1}"}},
      {"a whole step where none is possible",
       {digits, "+plugins.compile={scope: step}",
        "training_hyperparams.clip_grad_norm=1"}},
      {"a key that nothing honours",
       {digits, "+training_hyperparams.precise_bn=True"}},
      {"a policy that there is not",
       {digits, "training_hyperparams.non_finite=rollbak"}},
      {"a loss spike of another shape",
       {digits, "++training_hyperparams.loss_spike={factor: 3, window: 2}"}},
      {"a replay of nothing", {"--replay=nowhere"}},
      {"a replay of a recipe", {digits, "--replay=nowhere", "--until=x"}},
      {"several mistakes",
       {digits, "lr=-1", "+training_hyperparams.sead=1", "+plugins.emma={}"}},
      {"a cycle of recipes", {own, "--recipe=cycle_a"}},
      {"a cycle of values", {own, "--recipe=value_cycle"}},
      {"a value left open", {own, "--recipe=open"}},
      {"a file that does not parse", {own, "--recipe=unparsable"}},
      {"several processes that cannot meet", {digits}, {{"WORLD_SIZE", "2"}}},
      {"a missing data set",
       {"--recipe=cifar10_resnet",
        "dataset_params.train_dataset_params.root=nowhere",
        "dataset_params.val_dataset_params.root=nowhere"}},
  };
}

TEST(BadInput, GetsItsMessageAndStartsNothing) {
  std::string messages;
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    const std::string folder = EmptyFolder();
    const Outcome run = RunTrainer(c.arguments, folder, c.environment);
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(FilesIn(folder), IsEmpty());
    absl::StrAppend(&messages, messages.empty() ? "" : "\n", "--- ", c.name,
                    "\n", Normalized(run.err, folder));
  }
  ExpectGolden("tests/e2e/testdata/bad_input.golden", messages);
}

TEST(BadInput, IsToldOfAFolderThatHoldsARun) {
  const std::string folder = EmptyFolder();
  const std::vector<std::string> arguments = {
      "--recipe=digits_resnet", "epochs=1", "--run_dir=run",
      "training_hyperparams.max_train_batches=1"};
  ASSERT_EQ(RunTrainer(arguments, folder).exit_code, 0);
  const std::string before = ReadText(folder + "/run/result.json");
  const Outcome again = RunTrainer(arguments, folder);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("holds a run already"));
  EXPECT_EQ(ReadText(folder + "/run/result.json"), before);
}

TEST(Failure, WhileTrainingIsExitCodeOneAndInTheResult) {
  const std::string folder = EmptyFolder();
  const Outcome run = RunTrainer(
      {"--recipe=digits_resnet", "--run_dir=run", "lr=1e30"}, folder);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("clip_grad_norm"));
  const json result = json::parse(ReadText(folder + "/run/result.json"));
  EXPECT_EQ(result["exit_reason"], "non_finite");
  EXPECT_EQ(result["error"]["kind"], "non_finite");
  EXPECT_THAT(ReadText(folder + "/run/metrics.jsonl"),
              HasSubstr("\"name\":\"non_finite\""));
}

TEST(Failure, OfAPluginsHookNamesThePlugin) {
  const std::string folder = EmptyFolder();
  for (const char* how : {"error", "int"}) {
    const std::string run_dir = absl::StrCat("run_", how);
    const Outcome run = RunTrainer(
        {"--recipe=digits_resnet", "--run_dir=" + run_dir,
         "--plugin_path=" + RunfilePath("tests/abi"),
         absl::StrCat("+plugins.misbehaving={at: FitBegin, how: ", how, "}")},
        folder);
    EXPECT_EQ(run.exit_code, 1) << run.err;
    const json result =
        json::parse(ReadText(folder + "/" + run_dir + "/result.json"));
    EXPECT_EQ(result["error"]["kind"], "hook") << how;
    EXPECT_EQ(result["error"]["plugins"], json({"misbehaving"}));
    EXPECT_EQ(result["error"]["hook"], "FitBegin");
    EXPECT_EQ(result["steps"], 0);
  }
}

}  // namespace
}  // namespace slipway
