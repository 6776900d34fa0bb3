// A capture on its way to a package: from the cache, or through the compiler,
// which runs beside the training.
//
//   Compilation compilation(capture, request);
//   while (!compilation.Poll()) TrainABatch();
//   absl::StatusOr<std::string> folder = compilation.result();
//
// Ranks and runs that want the same package at the same time compile it once:
// whoever comes second waits and then finds it. Belongs to one thread, none of
// whose time it takes but for reading and writing files.
#ifndef SLIPWAY_PLUGINS_COMPILE_COMPILATION_H_
#define SLIPWAY_PLUGINS_COMPILE_COMPILATION_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "plugins/compile/capture.h"
#include "plugins/compile/options.h"

namespace slipway::compile {

struct CompilationRequest {
  const Options& options;
  CaptureOptions capture;
  std::string candidate;  // plain or layout
  // Somebody waits for it, instead of training.
  bool waits = false;
};

class Compilation {
 public:
  // Looks into the cache, and starts the compiler if nothing is there.
  // `capture` is not kept.
  Compilation(const Capture& capture, const CompilationRequest& request);
  // Ends the compiler, if it runs.
  ~Compilation();
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  // Moves on; true once there is a result.
  bool Poll();
  // Until then.
  void Wait();
  // The package's folder. Errors say what is missing, and how to mend it.
  const absl::StatusOr<std::string>& result() const;

  // It was there already.
  bool from_cache() const;
  // For which the compiler ran; 0 if it was not needed.
  double seconds() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_COMPILATION_H_
