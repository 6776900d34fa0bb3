#include "trainer/dist/gradient_sync.h"

#include <string>
#include <utility>

#include "ATen/core/grad_mode.h"
#include "ATen/ops/mul.h"
#include "ATen/ops/scalar_tensor.h"
#include "ATen/ops/zeros.h"
#include "absl/strings/str_cat.h"
#include "torch/csrc/autograd/engine.h"
#include "torch/csrc/autograd/function_hook.h"
#include "torch/csrc/autograd/variable.h"
#include "trainer/dist/buckets.h"
#include "trainer/plugin/exception.h"

namespace slipway::dist {
namespace {

std::vector<at::Tensor> Trained(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> trained;
  for (const at::Tensor& parameter : parameters) {
    if (parameter.requires_grad()) trained.push_back(parameter);
  }
  return trained;
}

}  // namespace

struct GradientSync::Impl {
  // What a parameter calls once its gradient is complete.
  class Hook : public torch::autograd::PostAccumulateGradHook {
   public:
    Hook(Impl* sync, size_t parameter) : sync_(sync), parameter_(parameter) {}
    void operator()(const at::Tensor&) override {
      sync_->OnGradient(parameter_);
    }

   private:
    Impl* sync_;
    size_t parameter_;
  };

  // Where a parameter's gradient goes, and how far it has come.
  struct Place {
    size_t bucket = 0;
    size_t position = 0;
    bool ready = false;
  };

  // A bucket on its way.
  struct Transit {
    size_t missing = 0;
    bool sent = false;
    Work work;
  };

  Impl(ProcessGroup& g, const std::vector<at::Tensor>& all, int note_count,
       const BucketSizes& sizes);
  ~Impl();

  void Begin(FillNotes fill);
  void OnGradient(size_t i);
  void Put(size_t i);
  void SendReady();
  void Send(size_t bucket);
  void SendNotes();
  absl::Status Complete();
  void PlaceGradients();
  bool UsedAnywhere(size_t i) const;
  void FinishBackward();
  void Fail(std::string message);
  absl::StatusOr<std::vector<float>> Finish();

  ProcessGroup& group;
  std::vector<at::Tensor> parameters;
  std::vector<Place> places;
  std::vector<Bucket> buckets;
  std::vector<Transit> transits;
  at::Tensor notes;  // on the CPU: the first bucket's, or its own
  bool notes_ride = false;
  Work notes_work;
  at::Tensor scale;
  FillNotes fill_notes;
  size_t next = 0;  // bucket to send
  bool active = false;
  bool automatic = false;
  absl::Status failure;
};

GradientSync::Impl::Impl(ProcessGroup& g, const std::vector<at::Tensor>& all,
                         int note_count, const BucketSizes& sizes)
    : group(g), notes(at::zeros({note_count})) {
  if (!group.distributed()) return;
  const at::NoGradGuard no_gradients;
  parameters = Trained(all);
  buckets = MakeBuckets(parameters, sizes, note_count);
  transits.resize(buckets.size());
  places.resize(parameters.size());
  for (size_t b = 0; b < buckets.size(); ++b) {
    for (size_t i = 0; i < buckets[b].members.size(); ++i) {
      places[buckets[b].members[i]] = {.bucket = b, .position = i};
    }
  }
  notes_ride = !buckets.empty() && buckets[0].flat.is_cpu() &&
               buckets[0].flat.scalar_type() == at::kFloat;
  if (notes_ride) notes = buckets[0].notes;
  scale = at::scalar_tensor(1.0 / group.world_size(), at::kDouble);
  for (size_t i = 0; i < parameters.size(); ++i) {
    torch::autograd::impl::set_post_acc_grad_hooks(
        parameters[i], std::make_unique<Hook>(this, i));
  }
}

GradientSync::Impl::~Impl() {
  for (const at::Tensor& parameter : parameters) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
  }
}

void GradientSync::Impl::Begin(FillNotes fill) {
  fill_notes = std::move(fill);
  failure = absl::OkStatus();
  active = true;
  next = 0;
  for (Place& place : places) place.ready = false;
  for (size_t b = 0; b < buckets.size(); ++b) {
    transits[b] = {.missing = buckets[b].members.size()};
    // Those that turn out to be unused take it back.
    buckets[b].used.fill_(1);
  }
}

// Runs inside backward, on whichever thread that uses.
void GradientSync::Impl::OnGradient(size_t i) {
  if (!active && automatic) {
    Begin(nullptr);
    torch::autograd::Engine::get_default_engine().queue_callback(
        [this] { FinishBackward(); });
  }
  if (!active || !failure.ok()) return;
  Place& place = places[i];
  if (place.ready && transits[place.bucket].sent) {
    Fail(absl::StrCat("parameter ", i, " of shape ",
                      c10::str(parameters[i].sizes()),
                      " got a gradient twice in one backward pass, the second "
                      "time after the first had been sent"));
    return;
  }
  const absl::Status put = Guarded([&] { Put(i); });
  if (!put.ok()) return Fail(std::string(put.message()));
  if (place.ready) return;
  place.ready = true;
  --transits[place.bucket].missing;
  SendReady();
}

// The share of this rank in the mean goes to where the mean will be.
void GradientSync::Impl::Put(size_t i) {
  const at::NoGradGuard no_gradients;
  const at::Tensor& gradient = parameters[i].grad();
  TORCH_CHECK(!gradient.is_sparse(),
              "gradients of several ranks cannot be sparse: parameter ", i,
              " of shape ", parameters[i].sizes());
  at::Tensor& view = buckets[places[i].bucket].views[places[i].position];
  FollowStrides(parameters[i], view);
  at::mul_out(view, gradient, scale);
}

// In the same order on all ranks, whatever order gradients come in.
void GradientSync::Impl::SendReady() {
  while (next < buckets.size() && transits[next].missing == 0) Send(next++);
}

void GradientSync::Impl::Send(size_t bucket) {
  if (bucket == 0) SendNotes();
  transits[bucket].sent = true;
  transits[bucket].work = group.AllReduce(buckets[bucket].flat);
}

void GradientSync::Impl::SendNotes() {
  notes.zero_();
  if (fill_notes) {
    fill_notes(
        {notes.mutable_data_ptr<float>(), static_cast<size_t>(notes.numel())});
  }
  if (!notes_ride && notes.numel() > 0) notes_work = group.AllReduce(notes);
}

absl::Status GradientSync::Impl::Complete() {
  for (size_t i = 0; i < parameters.size(); ++i) {
    Place& place = places[i];
    if (place.ready) continue;
    if (parameters[i].grad().defined()) {
      Put(i);
      place.ready = true;
    } else {
      buckets[place.bucket].views[place.position].zero_();
      buckets[place.bucket].used[place.position].zero_();
    }
    --transits[place.bucket].missing;
  }
  SendReady();
  if (buckets.empty()) SendNotes();
  absl::Status status = notes_work.Wait();
  for (Transit& transit : transits) status.Update(transit.work.Wait());
  return status;
}

void GradientSync::Impl::PlaceGradients() {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!places[i].ready && !UsedAnywhere(i)) continue;
    parameters[i].mutable_grad() =
        buckets[places[i].bucket].views[places[i].position];
  }
}

// Waits for the device, but only where this rank has no gradient.
bool GradientSync::Impl::UsedAnywhere(size_t i) const {
  const Place& place = places[i];
  return buckets[place.bucket].used[place.position].item().toDouble() > 0;
}

absl::StatusOr<std::vector<float>> GradientSync::Impl::Finish() {
  active = false;
  absl::Status status = failure;
  const at::NoGradGuard no_gradients;
  if (status.ok()) status = Guarded([this] { return Complete(); });
  if (status.ok()) status = Guarded([this] { PlaceGradients(); });
  if (!status.ok()) return status;
  const float* begin = notes.const_data_ptr<float>();
  return std::vector<float>(begin, begin + notes.numel());
}

void GradientSync::Impl::FinishBackward() {
  const absl::Status status = Finish().status();
  TORCH_CHECK(status.ok(), status.message());
}

void GradientSync::Impl::Fail(std::string message) {
  if (failure.ok()) failure = absl::FailedPreconditionError(message);
}

GradientSync::GradientSync(ProcessGroup& group,
                           const std::vector<at::Tensor>& parameters, int notes,
                           BucketSizes sizes)
    : impl_(std::make_unique<Impl>(group, parameters, notes, sizes)) {}

GradientSync::~GradientSync() = default;

void GradientSync::Begin(FillNotes fill) { impl_->Begin(std::move(fill)); }

absl::StatusOr<std::vector<float>> GradientSync::Finish() {
  return impl_->Finish();
}

void GradientSync::SynchronizeEachBackward() { impl_->automatic = true; }

}  // namespace slipway::dist
