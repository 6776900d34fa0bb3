#include "tests/parity/parity.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <vector>

#include "ATen/Parallel.h"
#include "ATen/core/Reduction.h"
#include "ATen/ops/cross_entropy_loss.h"
#include "ATen/ops/empty.h"
#include "c10/core/GradMode.h"

namespace slipway::parity {
namespace {

uint32_t Crc32(std::string_view text) {
  uint32_t crc = ~0u;
  for (unsigned char c : text) {
    crc ^= c;
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    }
  }
  return ~crc;
}

double Element(std::string_view name, const at::Tensor& tensor, double s) {
  if (name.ends_with("running_mean")) return 0.1 * s;
  if (name.ends_with("running_var")) return 1 + 0.1 * std::abs(s);
  if (tensor.dim() >= 2) {
    const double fan_in = tensor.numel() / tensor.size(0);
    return s * std::sqrt(2 / fan_in);
  }
  return name.ends_with("weight") ? 1 + 0.1 * s : 0.05 * s;
}

at::Tensor Classes(int64_t images, int64_t classes) {
  const at::Tensor target = at::empty({images}, at::kLong);
  for (int64_t i = 0; i < images; ++i) target[i] = i * 3 % classes;
  return target;
}

double Norm(const at::Tensor& tensor) {
  return tensor.to(at::kDouble).norm().item<double>();
}

// Single values may cancel: they are compared on the scale of the whole.
void ExpectValues(const at::Tensor& flat, const Json& values,
                  double tolerance) {
  ASSERT_EQ(flat.numel(), static_cast<int64_t>(values.size()));
  for (int64_t i = 0; i < flat.numel(); ++i) {
    EXPECT_NEAR(flat[i].item<double>(), values[i].get<double>(), tolerance)
        << "value " << i;
  }
}

using Tensors = std::map<std::string, at::Tensor>;

// What one pass in train mode has made.
struct Pass {
  at::Tensor logits;
  at::Tensor loss;
  Tensors buffers;
  Tensors gradients;
};

Pass TrainOn(nn::Module& model, const at::Tensor& images, double smoothing) {
  FillByFormula(model);
  model.To(images.scalar_type());
  model.Train();
  Pass pass;
  pass.logits = model.Run(images);
  const int64_t classes = pass.logits.size(1);
  pass.loss = at::cross_entropy_loss(
      pass.logits, Classes(images.size(0), classes), /*weight=*/{},
      at::Reduction::Mean, /*ignore_index=*/-100, smoothing);
  pass.loss.backward();
  for (const auto& [name, buffer] : model.NamedBuffers()) {
    pass.buffers[name] = buffer.clone();
  }
  for (auto& [name, parameter] : model.NamedParameters()) {
    pass.gradients[name] = parameter.grad();
    parameter.mutable_grad() = at::Tensor();
  }
  model.To(at::kFloat);
  return pass;
}

// Each value with another last bit.
at::Tensor MoveLastBit(const at::Tensor& images) {
  at::Tensor moved = images.clone();
  float* data = moved.data_ptr<float>();
  for (int64_t i = 0; i < moved.numel(); ++i) {
    data[i] = std::nextafter(data[i], i % 2 == 0 ? 2.0f : -2.0f);
  }
  return moved;
}

// Passes that differ from one another by rounding only.
struct Passes {
  Pass pass;
  Pass moved;  // other last bits in the images
  Pass exact;  // in double precision
  double moves = kMoves;
};

// How far `pick` of a pass may be from the right one.
template <typename Pick>
double ToleranceOf(const Passes& passes, Pick pick) {
  const at::Tensor tensor = pick(passes.pass);
  const double move = std::max(Norm(pick(passes.moved).sub(tensor)),
                               Norm(pick(passes.exact).sub(tensor)));
  return std::max(kTolerance, passes.moves * move / Norm(tensor));
}

void ExpectRunningMeans(const Passes& passes, const Json& entry) {
  for (const auto& [name, summary] : entry["bn_after"].items()) {
    SCOPED_TRACE(name);
    const auto buffer = [&](const Pass& pass) { return pass.buffers.at(name); };
    ExpectTensor(buffer(passes.pass), summary, ToleranceOf(passes, buffer));
  }
}

// Every gradient has the entry's norm.
void ExpectGradients(const Passes& passes, const Json& entry) {
  const Json& norms = entry["grad_l2"];
  EXPECT_EQ(passes.pass.gradients.size(), norms.size());
  for (const auto& [name, gradient] : passes.pass.gradients) {
    ASSERT_TRUE(norms.contains(name)) << name;
    const double norm = norms[name].get<double>();
    const double tolerance = ToleranceOf(
        passes, [&](const Pass& pass) { return pass.gradients.at(name); });
    EXPECT_NEAR(Norm(gradient), norm, tolerance * norm) << name;
  }
}

}  // namespace

void Environment::SetUp() {
  // Each is read once, when the first kernel runs.
  setenv("ATEN_CPU_CAPABILITY", "avx2", /*overwrite=*/1);
  setenv("ONEDNN_MAX_CPU_ISA", "AVX2", /*overwrite=*/1);
  setenv("MKL_CBWR", "AVX2", /*overwrite=*/1);
  at::set_num_threads(1);
}

Json Read(const std::string& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

void FillByFormula(nn::Module& model) {
  for (const auto& [name, tensor] : model.StateDict()) {
    if (!tensor.is_floating_point()) {
      tensor.zero_();
      continue;
    }
    const double phase = Crc32(name) % 1000;
    float* data = tensor.data_ptr<float>();
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      const double s = std::sin(0.7 * static_cast<double>(i) + phase);
      data[i] = static_cast<float>(Element(name, tensor, s));
    }
  }
}

at::Tensor Images(at::IntArrayRef shape) {
  const at::Tensor images = at::empty(shape);
  float* data = images.data_ptr<float>();
  for (int64_t n = 0; n < images.numel(); ++n) {
    const double x = static_cast<double>(n);
    data[n] =
        static_cast<float>(std::sin(0.013 * x) + 0.5 * std::cos(0.37 * x));
  }
  return images;
}

void ExpectNames(const nn::Module& model, const Json& entry) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> expected, found;
  for (const auto& [name, shape] : entry["names"].items()) {
    expected.emplace_back(name, shape);
  }
  for (const auto& [name, tensor] : model.StateDict()) {
    found.emplace_back(name, tensor.sizes().vec());
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(nn::CountParameters(model), entry["params"].get<int64_t>());
}

void ExpectTensor(const at::Tensor& tensor, const Json& summary,
                  double tolerance) {
  EXPECT_EQ(tensor.sizes().vec(), summary["shape"].get<std::vector<int64_t>>());
  const at::Tensor flat = tensor.detach().to(at::kDouble).flatten();
  const double norm = summary["l2"].get<double>();
  const double count = static_cast<double>(flat.numel());
  EXPECT_NEAR(Norm(flat), norm, tolerance * norm);
  EXPECT_NEAR(flat.sum().item<double>(), summary["sum"].get<double>(),
              tolerance * norm * std::sqrt(count));
  const double near = tolerance * norm / std::sqrt(count);
  const int64_t last = static_cast<int64_t>(summary["last"].size());
  ExpectValues(flat.slice(0, 0, summary["first"].size()), summary["first"],
               near);
  ExpectValues(flat.slice(0, flat.numel() - last), summary["last"], near);
}

void ExpectClassifier(nn::Module& model, const Json& entry,
                      at::IntArrayRef images, const Training& training) {
  ExpectNames(model, entry);
  FillByFormula(model);
  const at::Tensor x = Images(images);
  model.Train(false);
  {
    const c10::AutoGradMode no_grad(false);
    SCOPED_TRACE("evaluation");
    ExpectTensor(model.Run(x), entry["eval"]["out"]);
  }
  SCOPED_TRACE("training");
  const double smoothing = training.smoothing;
  const Passes passes = {
      TrainOn(model, x, smoothing), TrainOn(model, MoveLastBit(x), smoothing),
      TrainOn(model, x.to(at::kDouble), smoothing), training.moves};
  const double tolerance =
      ToleranceOf(passes, [](const Pass& pass) { return pass.logits; });
  ExpectTensor(passes.pass.logits, entry["train"]["out"], tolerance);
  ExpectRunningMeans(passes, entry);
  const double expected = entry["loss"].get<double>();
  EXPECT_NEAR(passes.pass.loss.item<double>(), expected, tolerance * expected);
  ExpectGradients(passes, entry);
}

}  // namespace slipway::parity
