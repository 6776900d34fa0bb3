// Libraries that misbehave, under `inspect --abi`: whatever they do, it ends
// well and says what it was.
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"
#include "tests/golden/golden.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

Outcome Inspect(const std::string& library, const std::string& oddity = "",
                const std::string& more = "--nojson") {
  return Process(RunfilePath("trainer/inspect/inspect"),
                 {absl::StrCat("--abi=", library), more}, testing::TempDir(),
                 {{"SLIPWAY_TEST_ODDITY", oddity}})
      .Wait();
}

std::string Library(const std::string& name) {
  return RunfilePath(absl::StrCat("tests/abi/lib", name, ".so"));
}

// The misbehaving library beside a manifest with defaults of the test's.
std::string Misbehaving(const std::string& at, const std::string& how,
                        const std::string& version = "1.0.0") {
  const std::string folder = EmptyFolder() + "/misbehaving";
  fs::create_directories(folder);
  const std::string path = folder + "/libmisbehaving.so";
  fs::copy_file(Library("misbehaving"), path,
                fs::copy_options::overwrite_existing);
  std::ofstream(folder + "/plugin.yaml") << absl::StrCat(
      "schema: 1\nid: misbehaving\nversion: ", version,
      "\napi: \"^1.0\"\nlibrary: libmisbehaving.so\nsummary: s\n"
      "license: l\nstatus: stable\nhooks: [FitBegin]\nconfig:\n"
      "  at: {type: string, default: ",
      at,
      ", help: h}\n"
      "  how: {type: string, default: ",
      how,
      ", help: h}\n"
      "components: {schedules: [Flat]}\n");
  return path;
}

// The parts that depend on the machine replaced.
std::string Normalised(std::string text) {
  text = std::regex_replace(text, std::regex("/[^ \n:,]*/"), "");
  text = std::regex_replace(text, std::regex("trainer lts_[0-9]+"),
                            "trainer $$NAMESPACE");
  text = std::regex_replace(text, std::regex("trainer debian[0-9]+"),
                            "trainer $$NAMESPACE");
  return std::regex_replace(text, std::regex("GCC [0-9]+"), "GCC $$N");
}

std::string Message(const std::string& title, const std::string& library,
                    const std::string& oddity = "") {
  const Outcome run = Inspect(library, oddity);
  EXPECT_EQ(run.exit_code, 1) << title << run.err;
  EXPECT_THAT(run.out, HasSubstr("does not fit")) << title;
  return absl::StrCat("## ", title, "\n", Normalised(run.err), "\n");
}

TEST(InspectAbi, SurvivesLibrariesAndTellsWhatTheyDid) {
  const std::string constructor = Library("bad_constructor");
  const std::string odd = Library("odd");
  ExpectGolden(
      "tests/abi/inspect.golden",
      absl::StrCat(
          Message("no such library", Library("nowhere")),
          Message("a library without an entry", Library("no_entry")),
          Message("a constructor that crashes", constructor, "crashes"),
          Message("a constructor that ends the process", constructor, "exits"),
          Message("a constructor that hangs", constructor, "hangs"),
          Message("an entry that crashes", odd, "crashes"),
          Message("an entry that ends the process", odd, "exits"),
          Message("an entry that throws", odd, "throws"),
          Message("another LibTorch", odd, "other_libtorch"),
          Message("another Abseil", odd, "other_abseil"),
          Message("create throws", Misbehaving("Create", "standard")),
          Message("create crashes", Misbehaving("Create", "crash")),
          Message("register crashes", Misbehaving("Register", "crash")),
          Message("another version than its manifest's",
                  Misbehaving("Nowhere", "error", "2.0.0"))));
}

TEST(InspectAbi, WarnsOfALibraryThatExportsTooMuch) {
  const Outcome run = Inspect(Library("static_core"));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err,
              testing::ContainsRegex(
                  "libstatic_core.so\" exports [0-9]+ symbols beside"));
  EXPECT_THAT(run.err, HasSubstr("version script"));
}

TEST(InspectAbi, ComparesFieldByField) {
  const Outcome run = Inspect(Misbehaving("Nowhere", "error"));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, HasSubstr("plugin \"misbehaving\", version 1.0.0"));
  EXPECT_THAT(run.out, HasSubstr("fits this trainer, and was created"));
  EXPECT_THAT(run.out, HasSubstr("Abseil's namespace"));
}

TEST(InspectAbi, GivesTheContractsDocument) {
  const Outcome fits = Inspect(Misbehaving("Nowhere", "error"), "", "--json");
  const json document = json::parse(fits.out);
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["matches"], true);
  EXPECT_EQ(document["created"], true);
  EXPECT_EQ(document["exports"], json({"slipway_plugin_entry_v1"}));
  EXPECT_EQ(document["fields"].size(), 12);
  for (const json& field : document["fields"]) {
    EXPECT_EQ(field["matches"], true) << field;
    EXPECT_EQ(field["trainer"], field["plugin"]) << field;
  }
  const Outcome differs = Inspect(Library("odd"), "other_libtorch", "--json");
  EXPECT_EQ(differs.exit_code, 1);
  const json other = json::parse(differs.out);
  EXPECT_EQ(other["matches"], false);
  EXPECT_EQ(other["created"], nullptr);
  EXPECT_EQ(other["fields"][1]["name"], "LibTorch");
  EXPECT_EQ(other["fields"][1]["plugin"], "2.14.1");
  EXPECT_EQ(other["fields"][1]["matches"], false);
  EXPECT_EQ(other["problems"][0]["kind"], "abi");
  // The tag was compared before it crashed.
  const Outcome crash = Inspect(Misbehaving("Create", "crash"), "", "--json");
  EXPECT_EQ(json::parse(crash.out)["fields"].size(), 12);
}

// Else the exports of our own plugins would differ from what they should be.
TEST(InspectAbi, FindsNothingWrongWithOurPlugins) {
  for (const char* id : {"ema", "optim", "amp"}) {
    const Outcome run =
        Inspect(RunfilePath(absl::StrCat("plugins/", id, "/lib", id, ".so")));
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.err, "");
  }
}

}  // namespace
}  // namespace slipway
