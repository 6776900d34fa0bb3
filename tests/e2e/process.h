// Runs the trainer, or another program, as a user would.
//
//   const Outcome run = RunTrainer({"--recipe=digits_resnet", "epochs=1"},
//                                  folder);
//   EXPECT_EQ(run.exit_code, 0) << run.err;
//
// Programs run in `folder`, with one thread for tensor operations, so that
// tests that share a machine do not wait for each other's threads.
#ifndef SLIPWAY_TESTS_E2E_PROCESS_H_
#define SLIPWAY_TESTS_E2E_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace slipway {

struct Outcome {
  int exit_code = -1;  // 128 + signal if a signal ended it
  std::string out;
  std::string err;
};

// A program that runs in `folder`.
class Process {
 public:
  // `environment` is added to this process's.
  Process(const std::string& program, const std::vector<std::string>& arguments,
          const std::string& folder,
          const std::map<std::string, std::string>& environment = {});
  // Kills it if it still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void Signal(int signal);
  // Until it ends.
  Outcome Wait();

 private:
  std::string output_;  // the folder of its output
  pid_t pid_ = -1;
};

// Of a file among this test's `data`, from the repository's root.
std::string RunfilePath(const std::string& path);

std::string TrainerPath();

Outcome RunTrainer(const std::vector<std::string>& arguments,
                   const std::string& folder,
                   const std::map<std::string, std::string>& environment = {});

// An empty folder for the test that runs.
std::string EmptyFolder();

std::string ReadText(const std::string& path);
// Names of what lies in `folder`, sorted.
std::vector<std::string> FilesIn(const std::string& folder);
// The only run's folder beneath checkpoints/<experiment>.
std::string OnlyRun(const std::string& folder, const std::string& experiment);

}  // namespace slipway

#endif  // SLIPWAY_TESTS_E2E_PROCESS_H_
