// The processes that train one model together, and what they tell each other.
//
//   dist::ProcessGroup group(environment);
//   RETURN_IF_ERROR(group.Connect());
//   dist::Work work = group.AllReduce(gradient);   // sums, in place
//   ...                                            // meanwhile
//   RETURN_IF_ERROR(work.Wait());
//
// In a world of one, Connect and every operation do nothing and succeed.
//
// Every rank calls the same operations on tensors of the same type and size, in
// the same order. They may come from several threads if something else orders
// them (backward's threads and the one that waits for them). CPU tensors go
// through Gloo, CUDA tensors through NCCL. Nothing here throws.
//
// A peer that is lost is an error of whatever operation was on, and of all
// after it: UNAVAILABLE, with a message that names the ranks that do not
// answer. The connections are gone then; only a new group in a new process can
// take their place.
#ifndef SLIPWAY_TRAINER_DIST_PROCESS_GROUP_H_
#define SLIPWAY_TRAINER_DIST_PROCESS_GROUP_H_

#include <memory>
#include <string_view>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/dist/environment.h"

namespace slipway::dist {

// The name by which operators in a graph find the group of all ranks, here and
// in c10d's registry of groups.
inline constexpr char kWorldGroup[] = "slipway";

// An operation that goes on in the background. It keeps its tensor alive. The
// group must outlive it.
class [[nodiscard]] Work {
 public:
  Work() = default;  // done
  explicit Work(absl::Status result) : result_(std::move(result)) {}

  // Until the result is there: for CUDA tensors, until work that is enqueued
  // after it will see the result. Waiting again returns the same.
  absl::Status Wait();

 private:
  friend class ProcessGroup;
  struct Pending;
  std::shared_ptr<Pending> pending_;
  absl::Status result_;
};

class ProcessGroup {
 public:
  explicit ProcessGroup(Environment environment = {});
  // Leaves the group.
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  // The connected group called `name`, or null: for operators that a graph
  // calls. It lives as long as its owner says.
  static ProcessGroup* Find(std::string_view name);

  // Meets the other ranks; once, on every rank. With a CUDA `device`, tensors
  // there travel too. UNAVAILABLE names the ranks that have not come within
  // five minutes, or the peer timeout if that is shorter. SIGPIPE is ignored
  // from then on, unless the program handles it: writing to a lost peer is an
  // error.
  absl::Status Connect(at::Device device = at::kCPU);

  // Connect has succeeded, in a world of several.
  bool connected() const;

  const Environment& environment() const;
  int rank() const { return environment().rank; }
  int world_size() const { return environment().world_size; }
  // There are others.
  bool distributed() const { return world_size() > 1; }

  // Tensors are dense and contiguous in some order of their dimensions.
  //
  // Sums over all ranks, in place; bit-equal on all ranks afterwards.
  Work AllReduce(const at::Tensor& tensor);
  // Copies rank `root`'s values to all.
  Work Broadcast(const at::Tensor& tensor, int root = 0);
  // Each rank's tensor, in the order of ranks. Waits.
  absl::StatusOr<std::vector<at::Tensor>> AllGather(const at::Tensor& tensor);
  // Until all ranks have come here.
  absl::Status Barrier();

  // OK, or the first error: since then the group is of no use.
  absl::Status failure() const;
  // The ranks that failure() is about; empty where that is not known.
  std::vector<int> lost_ranks() const;

  // Leaves the others, for `reason`: their operations fail at once, with a
  // message that tells it. Does nothing after a failure of the group itself.
  void Leave(const absl::Status& reason);

 private:
  friend class Work;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipway::dist

#endif  // SLIPWAY_TRAINER_DIST_PROCESS_GROUP_H_
