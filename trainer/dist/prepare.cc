#include "trainer/dist/prepare.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ATen/ops/scalar_tensor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "trainer/dist/collectives.h"
#include "trainer/dist/environment.h"
#include "trainer/dist/gradient_sync.h"
#include "trainer/dist/heartbeat.h"
#include "trainer/plugin/exception.h"
#include "trainer/recipe/problem.h"

namespace slipway::dist {
namespace {

using NamedState = std::vector<std::pair<std::string, OptimizerState>>;

constexpr std::string_view kAutoLr = "auto_lr";
constexpr std::string_view kSteps = "steps";

bool AutoLrByEnvironment() {
  const char* const text = std::getenv("SLIPWAY_AUTO_LR");
  return text != nullptr && std::string_view(text) == "1";
}

// What the prepared optimizers share.
struct Shared {
  ProcessGroup& group;
  std::unique_ptr<ProcessGroup> own_group;
  std::unique_ptr<GradientSync> gradients;
  std::unique_ptr<BufferSync> buffers;
  Heartbeat heartbeat;
  PrepareOptions options;

  double RateFactor(int64_t step) const {
    if (!options.auto_lr.value_or(false)) return 1;
    const int64_t length = std::max<int64_t>(options.auto_lr_steps, 1);
    const double share = static_cast<double>(std::min(step, length)) /
                         static_cast<double>(length);
    return 1 + (group.world_size() - 1) * share;
  }

  absl::Status SyncBuffers() {
    if (!group.distributed()) return absl::OkStatus();
    return Guarded([this] {
      buffers->Begin();
      return buffers->Finish();
    });
  }
};

class RankedOptimizer : public Optimizer {
 public:
  RankedOptimizer(std::unique_ptr<Optimizer> own,
                  std::shared_ptr<Shared> shared)
      : Optimizer(own->groups()),
        shared_(std::move(shared)),
        own_(std::move(own)) {}

  absl::Status Step(const std::vector<double>& learning_rates) override {
    absl::Status status = shared_->SyncBuffers();
    if (!status.ok()) return status;
    std::vector<double> raised = learning_rates;
    for (double& rate : raised) rate *= shared_->RateFactor(steps_);
    status = own_->Step(raised);
    if (status.ok()) ++steps_;
    shared_->heartbeat.Beat();
    return status;
  }

  NamedState State() const override {
    NamedState state = own_->State();
    state.emplace_back(kAutoLr,
                       OptimizerState{{std::string(kSteps),
                                       at::scalar_tensor(steps_, at::kLong)}});
    return state;
  }

  absl::Status LoadState(const NamedState& state) override {
    NamedState rest;
    int64_t steps = 0;
    for (const auto& [name, entry] : state) {
      if (name != kAutoLr) {
        rest.emplace_back(name, entry);
      } else if (entry.size() == 1 && entry[0].first == kSteps &&
                 entry[0].second.numel() == 1) {
        steps = entry[0].second.item().toLong();
      } else {
        return absl::InvalidArgumentError(
            "\"auto_lr\" of an optimizer's state is no number of steps");
      }
    }
    absl::Status status = own_->LoadState(rest);
    if (status.ok()) steps_ = steps;
    return status;
  }

 private:
  // Before the optimizer, whose parameters it knows.
  const std::shared_ptr<Shared> shared_;
  const std::unique_ptr<Optimizer> own_;
  int64_t steps_ = 0;
};

class PreparedRanks : public Ranks {
 public:
  explicit PreparedRanks(std::shared_ptr<Shared> shared)
      : shared_(std::move(shared)) {}
  ProcessGroup& group() override { return shared_->group; }
  double RateFactor(int64_t step) const override {
    return shared_->RateFactor(step);
  }

 private:
  const std::shared_ptr<Shared> shared_;
};

std::vector<at::Tensor> Tensors(const std::vector<nn::NamedTensor>& named) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : named) tensors.push_back(tensor);
  return tensors;
}

std::string Describe(std::string_view what, const std::string& name,
                     const at::Tensor& tensor) {
  return absl::StrCat(std::string(what), " \"", name, "\" is ",
                      c10::toString(tensor.scalar_type()), "[",
                      absl::StrJoin(tensor.sizes(), ", "), "]");
}

std::string Describe(data::Loader& loader) {
  const data::LoaderOptions& options = loader.options();
  return absl::StrCat("a loader has ", loader.dataset().size(),
                      " samples, batch_size ", options.batch_size, ", seed ",
                      options.seed, options.shuffle ? ", shuffled" : "",
                      options.drop_last ? ", full" : "");
}

class Preparation {
 public:
  Preparation(nn::Module& model,
              const std::vector<std::unique_ptr<Optimizer>*>& optimizers,
              const std::vector<data::Loader*>& loaders)
      : model_(model), optimizers_(optimizers), loaders_(loaders) {}

  absl::StatusOr<std::unique_ptr<Ranks>> Run(std::shared_ptr<Shared> shared) {
    ProcessGroup& group = shared->group;
    absl::Status status = CheckAlike(group);
    if (status.ok()) status = BroadcastTensors(group, Initial());
    for (data::Loader* loader : loaders_) {
      if (!group.distributed() || !status.ok()) break;
      status = loader->Reshard(group.rank(), group.world_size());
    }
    if (!status.ok()) return status;
    shared->gradients = std::make_unique<GradientSync>(
        group, Tensors(model_.NamedParameters()));
    shared->gradients->SynchronizeEachBackward();
    shared->buffers = std::make_unique<BufferSync>(
        group, Tensors(model_.NamedBuffers()), shared->options.buffers);
    for (std::unique_ptr<Optimizer>* optimizer : optimizers_) {
      *optimizer =
          std::make_unique<RankedOptimizer>(std::move(*optimizer), shared);
    }
    return std::make_unique<PreparedRanks>(std::move(shared));
  }

 private:
  // All that must be the same everywhere, a line each.
  std::vector<std::string> Description() const {
    std::vector<std::string> lines;
    for (const auto& [name, tensor] : model_.NamedParameters()) {
      lines.push_back(Describe("parameter", name, tensor));
    }
    for (const auto& [name, tensor] : model_.NamedBuffers()) {
      lines.push_back(Describe("buffer", name, tensor));
    }
    for (const std::unique_ptr<Optimizer>* optimizer : optimizers_) {
      for (const auto& [name, entry] : (*optimizer)->State()) {
        for (const auto& [key, tensor] : entry) {
          lines.push_back(Describe(key + " of", name, tensor));
        }
      }
    }
    for (data::Loader* loader : loaders_) lines.push_back(Describe(*loader));
    return lines;
  }

  absl::Status CheckAlike(ProcessGroup& group) const {
    const auto all = AllGather(group, absl::StrJoin(Description(), "\n"));
    if (!all.ok()) return all.status();
    const std::vector<std::string> first = absl::StrSplit((*all)[0], '\n');
    for (size_t rank = 1; rank < all->size(); ++rank) {
      std::vector<std::string> other = absl::StrSplit((*all)[rank], '\n');
      if (first == other) continue;
      size_t i = 0;
      while (i < first.size() && i < other.size() && first[i] == other[i]) ++i;
      const auto line = [i](const std::vector<std::string>& lines) {
        return i < lines.size() ? lines[i] : "there is nothing more";
      };
      return absl::InvalidArgumentError(
          absl::StrCat("the ranks do not train the same: on rank 0 ",
                       line(first), ", on rank ", rank, " ", line(other)));
    }
    return absl::OkStatus();
  }

  std::vector<at::Tensor> Initial() const {
    std::vector<at::Tensor> tensors = Tensors(model_.NamedParameters());
    for (const at::Tensor& tensor : Tensors(model_.NamedBuffers())) {
      tensors.push_back(tensor);
    }
    for (const std::unique_ptr<Optimizer>* optimizer : optimizers_) {
      for (const auto& [name, entry] : (*optimizer)->State()) {
        for (const auto& [key, tensor] : entry) tensors.push_back(tensor);
      }
    }
    return tensors;
  }

  nn::Module& model_;
  const std::vector<std::unique_ptr<Optimizer>*>& optimizers_;
  const std::vector<data::Loader*>& loaders_;
};

absl::StatusOr<std::unique_ptr<Ranks>> PrepareWith(
    std::shared_ptr<Shared> shared, Preparation preparation) {
  std::optional<bool>& auto_lr = shared->options.auto_lr;
  if (!auto_lr) auto_lr = AutoLrByEnvironment();
  return Guarded([&] { return preparation.Run(std::move(shared)); });
}

at::Device DeviceOf(const nn::Module& model) {
  const std::vector<nn::NamedTensor> parameters = model.NamedParameters();
  return parameters.empty() ? at::Device(at::kCPU)
                            : parameters[0].second.device();
}

}  // namespace

Ranks::~Ranks() = default;

absl::StatusOr<std::unique_ptr<Ranks>> Prepare(
    nn::Module& model,
    const std::vector<std::unique_ptr<Optimizer>*>& optimizers,
    const std::vector<data::Loader*>& loaders, const PrepareOptions& options) {
  Problems problems;
  const Environment here = ReadEnvironment(problems);
  if (HasErrors(problems)) {
    return absl::InvalidArgumentError(FormatProblems(problems));
  }
  auto group = std::make_unique<ProcessGroup>(here);
  if (absl::Status status = group->Connect(DeviceOf(model)); !status.ok()) {
    return status;
  }
  ProcessGroup& borrowed = *group;
  return PrepareWith(std::shared_ptr<Shared>(
                         new Shared{.group = borrowed,
                                    .own_group = std::move(group),
                                    .heartbeat = Heartbeat(here.heartbeat_fd),
                                    .options = options}),
                     Preparation(model, optimizers, loaders));
}

absl::StatusOr<std::unique_ptr<Ranks>> Prepare(
    ProcessGroup& group, nn::Module& model,
    const std::vector<std::unique_ptr<Optimizer>*>& optimizers,
    const std::vector<data::Loader*>& loaders, const PrepareOptions& options) {
  return PrepareWith(
      std::shared_ptr<Shared>(
          new Shared{.group = group,
                     .heartbeat = Heartbeat(group.environment().heartbeat_fd),
                     .options = options}),
      Preparation(model, optimizers, loaders));
}

}  // namespace slipway::dist
