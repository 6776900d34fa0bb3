// A Python program beside the benchmark, which does a round whenever it is told
// to, so that rounds of both languages take turns.
//
//   PythonPeer peer({"compile_peer.py", "resnet18", "2", "3"});
//   const std::vector<double> seconds = peer.Ask("eager");
//
// It gets a line and answers with one, of numbers. PyTorch is fetched the first
// time: //third_party/pytorch:with_pytorch must be among the program's data.
#ifndef SLIPWAY_TESTS_PERF_PYTHON_PEER_H_
#define SLIPWAY_TESTS_PERF_PYTHON_PEER_H_

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace slipway::perf {

class PythonPeer {
 public:
  // A program from the repository's root, and its arguments. It is run by
  // $PYTHON, else python3; what it says on stderr is this process's to say.
  explicit PythonPeer(const std::vector<std::string>& command);
  // Ends it.
  ~PythonPeer();
  PythonPeer(const PythonPeer&) = delete;
  PythonPeer& operator=(const PythonPeer&) = delete;

  // Empty if it has ended, or answers with something else.
  std::vector<double> Ask(const std::string& line);

 private:
  pid_t pid_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace slipway::perf

#endif  // SLIPWAY_TESTS_PERF_PYTHON_PEER_H_
