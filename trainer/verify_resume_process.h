// A program that is started, interrupted and waited for.
//
//   ChildProcess child(program, {"--recipe=digits_resnet"},
//                      {{"OMP_NUM_THREADS", "1"}}, folder + "/output");
//   child.Signal(SIGTERM);
//   const int exit_code = child.Wait();
//
// One thread's.
#ifndef SLIPWAY_TRAINER_VERIFY_RESUME_PROCESS_H_
#define SLIPWAY_TRAINER_VERIFY_RESUME_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace slipway {

class ChildProcess {
 public:
  // Starts `program` with this process's environment and what is added to it.
  // Its output and errors go to the end of the file `output`. A program that
  // cannot be started ends with 127.
  ChildProcess(
      const std::string& program, const std::vector<std::string>& arguments,
      const std::vector<std::pair<std::string, std::string>>& environment,
      const std::string& output);
  // Kills it if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  bool running();
  // Does nothing once it has ended.
  void Signal(int signal);
  // Until it ends: its exit code, or 128 + the signal that ended it.
  int Wait();

 private:
  void Reap(int options);

  pid_t pid_ = -1;
  bool running_ = true;
  int exit_code_ = 127;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_VERIFY_RESUME_PROCESS_H_
