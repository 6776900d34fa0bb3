// The compiler as a process of its own, beside a training that goes on.
//
//   auto job = CompilerJob::Start(
//       {.program = folder + "/run_compiler.py",
//        .arguments = {"--capture=" + capture, "--package=" + package},
//        .log = run_dir + "/compile.log",
//        .timeout = absl::Minutes(30)});
//   while (!job->Poll()) TrainAStep();
//   if (!job->status().ok()) ...  // trains eagerly, and says why
//
// The process is niced by 10, has no input, writes to the log alone, and leads
// a group of processes: g++ and whatever else it starts ends with it, however
// it ends. A crash, an endless loop or a lack of memory in it does not touch
// the caller, and it does not outlive the caller.
//
// A job is used from one thread, which must live as long as the job: the kernel
// ends the process together with the thread that started it.
#ifndef SLIPWAY_PLUGINS_COMPILE_COMPILER_COMPILER_H_
#define SLIPWAY_PLUGINS_COMPILE_COMPILER_COMPILER_H_

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace slipway::compile {

// How to start the compiler.
struct CompilerCommand {
  std::string program;  // a Python program: run_compiler.py
  std::vector<std::string> arguments;
  // Takes the place of the process's output; overwritten.
  std::string log;
  // Added to this process's niceness; 0 where nothing else waits for the
  // processor.
  int nice = 10;
  // After which it is ended.
  absl::Duration timeout = absl::InfiniteDuration();
  // Added to this process's environment.
  std::vector<std::pair<std::string, std::string>> environment;
};

class CompilerJob {
 public:
  // Returns
  //   kFailedPrecondition  where there is no Python: $PYTHON, else the PATH's
  //                        python3
  //   kUnavailable         where the log cannot be written or no process made
  static absl::StatusOr<CompilerJob> Start(const CompilerCommand& command);

  CompilerJob(CompilerJob&& other);
  CompilerJob& operator=(CompilerJob&& other);
  // Cancels it.
  ~CompilerJob();

  // Whether it has ended. Does not wait.
  bool Poll();
  // Waits until it has ended, or until `deadline`; returns whether it has.
  bool Wait(absl::Time deadline);
  // Ends it and everything that it has started. Returns when they are gone.
  void Cancel();

  // Once it has ended: OK, or in one sentence why there is no package, and
  // where the log is.
  //   kUnimplemented       this graph cannot be compiled
  //   kFailedPrecondition  something is missing on the machine; the sentence
  //                        says what, and the command that mends it
  //   kInternal            the compiler failed
  //   kAborted             a signal ended it
  //   kDeadlineExceeded    it took longer than the timeout
  //   kCancelled           Cancel() ended it
  const absl::Status& status() const { return status_; }

  pid_t pid() const { return pid_; }
  const std::string& log() const { return log_; }

 private:
  CompilerJob(pid_t pid, std::string log, absl::Duration timeout);

  bool HasEnded() const;
  // Ends what is left of the group and collects the exit status.
  void Finish();
  void End(absl::Status status);

  pid_t pid_ = -1;  // -1 once it was moved away
  bool running_ = false;
  std::string log_;
  absl::Duration timeout_;
  absl::Time begin_;
  absl::Status status_;
};

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_COMPILER_COMPILER_H_
