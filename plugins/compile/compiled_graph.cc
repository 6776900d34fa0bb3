#include "plugins/compile/compiled_graph.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "torch/csrc/jit/ir/ir.h"
#include "trainer/plugin/exception.h"

namespace slipway::compile {
namespace {

// Strides only matter to what convolutions read and write.
bool HasConvolutions(const torch::jit::Graph& graph) {
  for (const torch::jit::Node* node : graph.nodes()) {
    const std::string kind = node->kind().toUnqualString();
    if (kind.find("conv") != std::string::npos) return true;
  }
  return false;
}

std::vector<std::string> CandidatesOf(const Capture& capture,
                                      const std::string& wanted) {
  if (!wanted.empty()) return {wanted};
  if (HasConvolutions(*capture.graph)) return {"plain", "layout"};
  return {"plain"};
}

// The modes that launch kernels as CUDA graphs, as torch.compile has them.
bool UsesGraphs(const Options& options) {
  return options.mode == "reduce-overhead" || options.mode == "max-autotune";
}

// As against: of the machine, or of the time that there was.
bool IsOfTheGraph(const absl::Status& status) {
  return absl::IsUnimplemented(status) || absl::IsInternal(status) ||
         absl::IsDataLoss(status);
}

}  // namespace

CompiledGraph::CompiledGraph(const GraphSetup& setup,
                             absl::StatusOr<Capture> capture,
                             const Inputs& inputs)
    : setup_(setup) {
  outcome_.graph = setup.graph;
  outcome_.scope = setup.scope;
  if (capture.ok()) {
    capture_ = *std::move(capture);
    Begin(inputs);
  } else {
    capture_.types = TypesOf(inputs.tensors());
    outcome_.unsuitable = true;
    Fail(capture.status());
  }
}

void CompiledGraph::Begin(const Inputs& inputs) {
  bool dynamic = setup_.options.dynamic.value_or(true);
  for (const at::Tensor& tensor : inputs.batch()) {
    dynamic = dynamic && tensor.dim() > 0 && tensor.size(0) > 1;
  }
  if (dynamic) batch_sizes_ = {2, std::numeric_limits<int64_t>::max()};
  if (setup_.candidate == "eager") {
    Fail(absl::OkStatus());
    return;
  }
  const CompilationRequest request = {
      .options = setup_.options,
      .capture = {.differentiate = setup_.differentiate(),
                  .dynamic_batch = dynamic},
      .candidate = "",
      .waits = setup_.waits()};
  for (const std::string& name : CandidatesOf(capture_, setup_.candidate)) {
    CompilationRequest one = request;
    one.candidate = name;
    candidates_.push_back(
        {.name = name,
         .compilation = std::make_unique<Compilation>(capture_, one),
         .package = nullptr,
         .status = absl::OkStatus()});
  }
}

bool CompiledGraph::Fits(const Inputs& inputs) const {
  return Match(inputs.tensors(), capture_.types, inputs.state_size(),
               batch_sizes_);
}

const Package* CompiledGraph::Ready(const MakeTrial& make_trial) {
  if (!decided_ && CompilersAreDone()) Decide(make_trial);
  return package_.get();
}

Value CompiledGraph::Unflatten(std::vector<at::Tensor> outputs) const {
  outputs.resize(capture_.output.Flatten().size());
  return capture_.output.Unflatten(outputs);
}

bool CompiledGraph::CompilersAreDone() {
  // One after the other: training has a use for the cores, too.
  for (const Candidate& candidate : candidates_) {
    if (setup_.waits()) candidate.compilation->Wait();
    if (!candidate.compilation->Poll()) return false;
  }
  return true;
}

std::vector<CompiledGraph::Candidate*> CompiledGraph::Good() {
  std::vector<Candidate*> good;
  for (Candidate& candidate : candidates_) {
    if (candidate.status.ok()) good.push_back(&candidate);
  }
  return good;
}

absl::Status CompiledGraph::FirstFailure() const {
  for (const Candidate& candidate : candidates_) {
    if (!candidate.status.ok()) return candidate.status;
  }
  return absl::InternalError("there was nothing to try");
}

void CompiledGraph::Decide(const MakeTrial& make_trial) {
  if (!std::exchange(loaded_, true)) LoadAll();
  if (!Good().empty()) {
    const std::unique_ptr<Trial> trial =
        make_trial({.differentiate = setup_.differentiate(),
                    .reduced_precision = capture_.reduced_precision});
    if (trial == nullptr) return;
    VerifyAll(*trial);
    if (!Good().empty()) Choose(*trial);
  }
  if (Good().empty()) {
    outcome_.unsuitable = IsOfTheGraph(FirstFailure());
    Fail(FirstFailure());
  }
  candidates_.clear();
  decided_ = true;
}

void CompiledGraph::LoadAll() {
  for (Candidate& candidate : candidates_) {
    outcome_.compile_seconds += candidate.compilation->seconds();
    const absl::StatusOr<std::string>& folder = candidate.compilation->result();
    candidate.status = folder.status();
    if (folder.ok()) {
      absl::StatusOr<std::unique_ptr<Package>> package =
          Package::Load(*folder, {.cuda_graphs = UsesGraphs(setup_.options)});
      candidate.status = package.status();
      if (package.ok()) candidate.package = *std::move(package);
    }
    Agree(candidate, absl::UnavailableError("another rank could not load it"));
  }
}

void CompiledGraph::Agree(Candidate& candidate, const absl::Status& elsewhere) {
  if (setup_.peers == nullptr) return;
  const bool mine = candidate.status.ok();
  if (!setup_.peers->All(mine) && mine) candidate.status = elsewhere;
}

void CompiledGraph::VerifyAll(Trial& trial) {
  for (Candidate* candidate : Good()) {
    candidate->status = trial.Verify([candidate](const auto& inputs) {
      return candidate->package->Run(inputs);
    });
    Agree(*candidate, absl::DataLossError("it was wrong on another rank"));
  }
}

void CompiledGraph::Choose(Trial& trial) {
  std::vector<Trial::Forward> forwards = {trial.eager()};
  for (Candidate* candidate : Good()) {
    forwards.push_back([candidate](const auto& inputs) {
      return candidate->package->Run(inputs);
    });
  }
  std::vector<double> seconds = trial.Time(forwards);
  if (setup_.peers != nullptr) seconds = setup_.peers->OfRank0(seconds);
  const std::vector<int64_t> bytes = trial.PeakBytes(forwards);
  for (size_t i = 0; i < seconds.size(); ++i) {
    const std::string name = i == 0 ? "eager" : Good()[i - 1]->name;
    outcome_.seconds.emplace_back(name, seconds[i]);
    outcome_.peak_bytes.emplace_back(name, bytes[i]);
  }
  // A resumed training goes on as it was, whatever this minute's times say.
  const size_t first = setup_.candidate.empty() ? 0 : 1;
  const size_t best = std::min_element(seconds.begin() + first, seconds.end()) -
                      seconds.begin();
  outcome_.speedup = seconds[0] / seconds[best];
  outcome_.cache = "hit";
  for (const Candidate* candidate : Good()) {
    if (!candidate->compilation->from_cache()) outcome_.cache = "built";
    outcome_.nodes = candidate->package->facts().nodes;
  }
  if (best > 0) Keep(*Good()[best - 1]);
  outcome_is_new_ = true;
}

void CompiledGraph::Keep(Candidate& candidate) {
  outcome_.candidate = candidate.name;
  package_ = std::move(candidate.package);
  batch_sizes_ = package_->facts().batch_sizes;
}

void CompiledGraph::Fail(const absl::Status& status) {
  decided_ = true;
  outcome_.reason = std::string(status.message());
  outcome_is_new_ = true;
}

std::optional<Outcome> CompiledGraph::TakeOutcome() {
  if (!std::exchange(outcome_is_new_, false)) return std::nullopt;
  return outcome_;
}

}  // namespace slipway::compile
