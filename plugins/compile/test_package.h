// A net, a batch, and the package that was made of them, for tests. Packages
// that are asked for twice in a test's process are compiled once.
#ifndef SLIPWAY_PLUGINS_COMPILE_TEST_PACKAGE_H_
#define SLIPWAY_PLUGINS_COMPILE_TEST_PACKAGE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ops/randn.h"
#include "gtest/gtest.h"
#include "plugins/compile/capture.h"
#include "plugins/compile/compilation.h"
#include "plugins/compile/package.h"
#include "plugins/compile/test_net.h"
#include "plugins/compile/test_no_leak_check.h"
#include "plugins/compile/trial.h"

namespace slipway::compile {

using Tensors = std::vector<at::Tensor>;

class Compiled {
 public:
  Compiled(std::unique_ptr<nn::Module> net, const Value& batch,
           const std::string& candidate = "plain",
           const CaptureOptions& capture_options = {})
      : net_(std::move(net)), inputs_(*net_, batch) {
    options_.cache_dir = testing::TempDir() + "/compiled";
    options_.program = "plugins/compile/compiler/programs/run_compiler.py";
    net_->Train(capture_options.differentiate);
    auto capture = CaptureForward(ForwardOf(*net_), inputs_, batch);
    EXPECT_TRUE(capture.ok()) << capture.status();
    types_ = capture->types;
    Compilation compilation(*capture, {.options = options_,
                                       .capture = capture_options,
                                       .candidate = candidate,
                                       .waits = true});
    compilation.Wait();
    EXPECT_TRUE(compilation.result().ok()) << compilation.result().status();
    if (!compilation.result().ok()) return;
    auto package = Package::Load(*compilation.result());
    EXPECT_TRUE(package.ok()) << package.status();
    if (package.ok()) package_ = *std::move(package);
    trial_options_ = {.differentiate = capture_options.differentiate,
                      .reduced_precision = capture->reduced_precision};
  }

  nn::Module& net() { return *net_; }
  const Package* package() const { return package_.get(); }
  Inputs& inputs() { return inputs_; }
  Tensors Run() { return package_->Run(inputs_.tensors()); }

  // On another batch.
  absl::Status Verify(const Value& batch) {
    if (package_ == nullptr) return absl::NotFoundError("no package");
    inputs_.set_batch(batch);
    if (!Match(inputs_.tensors(), types_, inputs_.state_size(),
               package_->facts().batch_sizes)) {
      return absl::OutOfRangeError("the package is not for such a batch");
    }
    const nn::Module::ForwardFunction forward = ForwardOf(*net_);
    Trial trial(OfGraphInputs(forward, inputs_, batch), inputs_,
                trial_options_);
    return trial.Verify(
        [this](const Tensors& tensors) { return package_->Run(tensors); });
  }

 private:
  Options options_;
  std::unique_ptr<nn::Module> net_;
  Inputs inputs_;
  std::vector<TensorType> types_;
  TrialOptions trial_options_;
  std::unique_ptr<Package> package_;
};

inline Value Images(int64_t n, int64_t size = 8) {
  return Value(at::randn({n, 3, size, size}));
}

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_TEST_PACKAGE_H_
