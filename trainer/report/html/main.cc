// Writes a report of one or more runs: one page of HTML.
//
//   bazel run //trainer:report -- checkpoints/digits/latest
//   bazel run //trainer:report -- RUN_A RUN_B --out=compare.html
//
// Exit codes: 0 written; 1 it could not be written; 2 bad usage, or a folder
// that holds no run.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "trainer/checkpoint/atomic_file.h"
#include "trainer/flag_set.h"
#include "trainer/report/html/page.h"

namespace slipway::html {
namespace {

constexpr char kUsage[] = R"(Writes a report of runs: one page of HTML.

  bazel run //trainer:report -- RUN_DIR... [--out=FILE.html]

RUN_DIR is the folder of a run, or an experiment's, which stands for all its
runs. A run that still goes on is reported as far as it is.

)";

std::vector<RunData> ReadAll(const std::vector<std::string>& folders,
                             Problems& problems) {
  std::vector<RunData> runs;
  if (folders.empty()) {
    RefuseArgument("no run",
                   "name the folder of one, such as checkpoints/digits/latest",
                   problems);
  }
  for (const std::string& folder : folders) {
    const std::vector<std::string> found = FindRuns(folder);
    if (found.empty()) {
      RefuseArgument(
          absl::StrCat("\"", folder, "\" holds no run"),
          "a run's folder has a metrics.jsonl, an experiment's has folders "
          "RUN_...",
          problems);
    }
    for (const std::string& path : found) {
      absl::StatusOr<RunData> run = ReadRun(path);
      if (run.ok()) {
        runs.push_back(*std::move(run));
      } else {
        RefuseArgument(std::string(run.status().message()), "", problems);
      }
    }
  }
  MakeNamesUnique(runs);
  return runs;
}

int Main(const std::vector<std::string>& arguments) {
  std::string out = "report.html";
  bool help = false;
  FlagSet flags;
  flags.Switch("help", "this text", &help);
  flags.Text("out", "FILE.html", "the page; report.html where it is not given",
             &out);
  Problems problems;
  const std::vector<std::string> folders = flags.Parse(arguments, problems);
  if (help) {
    std::cerr << kUsage << "Flags:\n" << flags.Help();
    return 0;
  }
  const std::vector<RunData> runs = ReadAll(folders, problems);
  if (HasErrors(problems)) {
    std::cerr << FormatProblems(problems);
    return 2;
  }
  const std::string now =
      absl::FormatTime("%Y-%m-%d %H:%M", absl::Now(), absl::LocalTimeZone());
  const absl::Status written =
      WriteFileAtomically(out, WritePage(runs, {.written = now}));
  if (!written.ok()) {
    std::cerr << "error: " << written.message() << "\n";
    return 1;
  }
  std::error_code error;
  std::cerr << "report of " << runs.size()
            << (runs.size() == 1 ? " run: " : " runs: ")
            << std::filesystem::absolute(out, error).string() << "\n";
  return 0;
}

}  // namespace
}  // namespace slipway::html

int main(int argc, char** argv) {
  // `bazel run` starts programs elsewhere; users mean paths from where they
  // are.
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (directory != nullptr && chdir(directory) != 0) {
    std::cerr << "warning: cannot enter " << directory << "\n";
  }
  return slipway::html::Main({argv + 1, argv + argc});
}
