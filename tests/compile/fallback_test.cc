// Whatever the compiler lacks, a training goes on and says once what it is.
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"
#include "tests/e2e/runs.h"

namespace slipway {
namespace {

using testing::HasSubstr;
using Environment = std::map<std::string, std::string>;

const Environment kNoPython = {{"PYTHON", "/nowhere/python3"}};
const Environment kNoCompiler = {
    {"PYTHON", "/usr/bin/python3"}, {"PATH", "/nowhere"}, {"CXX", ""}};

Outcome Train(const std::string& folder, const Environment& environment,
              const Arguments& more = {}) {
  Arguments arguments =
      SmallRun(folder + "/run", {"training_hyperparams.torch_compile=True",
                                 "+plugins.compile.wait=True",
                                 "+plugins.compile.cache_dir=" + folder});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunTrainer(arguments, folder, environment);
}

// One warning for the training's graph and one for the validation's.
void ExpectEager(const std::string& folder, const Outcome& run,
                 const std::string& reason) {
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("the train graph stays eager: "));
  EXPECT_THAT(run.err, HasSubstr(reason));
  const nlohmann::json result = ResultOf(folder + "/run");
  EXPECT_EQ(result["exit_reason"], "done");
  EXPECT_EQ(result["compile"]["cache"], "fallback");
  EXPECT_EQ(result["compile"]["candidate"], "eager");
  int fallbacks = 0;
  for (const nlohmann::json& event : LinesOf(folder + "/run", "event")) {
    fallbacks += event["name"] == "compile_fallback";
  }
  EXPECT_EQ(fallbacks, 2);
}

TEST(CompileFallback, TrainsWithoutPython) {
  const std::string folder = EmptyFolder();
  ExpectEager(folder, Train(folder, kNoPython), "python");
}

TEST(CompileFallback, TrainsWithoutACxxCompiler) {
  const std::string folder = EmptyFolder();
  ExpectEager(folder, Train(folder, kNoCompiler), "g++");
}

TEST(CompileFallback, EndsTheRunWhereCompilingIsRequired) {
  const std::string folder = EmptyFolder();
  const Outcome run =
      Train(folder, kNoPython, {"+plugins.compile.required=True"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("could not be compiled"));
}

}  // namespace
}  // namespace slipway
