#include "trainer/dist/process_group.h"

#include <fcntl.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "ATen/ops/empty_like.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "torch/csrc/distributed/c10d/GroupRegistry.hpp"
#include "torch/csrc/distributed/c10d/PrefixStore.hpp"
#include "torch/csrc/distributed/c10d/ProcessGroup.hpp"
#include "torch/csrc/distributed/c10d/TCPStore.hpp"
#include "trainer/dist/backends.h"
#include "trainer/dist/roll_call.h"
#include "trainer/plugin/exception.h"

namespace slipway::dist {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMeeting = std::chrono::minutes(5);
constexpr milliseconds kPause{10};  // between two looks for the others

// The groups that are connected, by name.
struct Registry {
  std::mutex mutex;
  std::map<std::string, ProcessGroup*, std::less<>> groups;
};

Registry& Groups() {
  static Registry* const registry = new Registry();
  return *registry;
}

std::string RankNames(const std::vector<int>& ranks) {
  return absl::StrCat(ranks.size() == 1 ? "rank " : "ranks ",
                      absl::StrJoin(ranks, ", "));
}

// Gloo begins its messages with a place in its own sources, in brackets.
std::string WithoutSource(std::string message) {
  const size_t begin = message.find('[');
  const size_t end = message.find("] ");
  const size_t source = message.find(".cc:");
  const bool told = end != message.npos && begin < source && source < end;
  return told ? message.substr(end + 2) : message;
}

c10d::TCPStoreOptions StoreOptions(const Environment& environment,
                                   milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(environment.master_port);
  options.isServer = environment.rank == 0 && !environment.agent_store;
  options.waitWorkers = false;
  options.timeout = timeout;
  if (options.isServer && environment.store_fd) {
    // Not for the children of this process.
    fcntl(*environment.store_fd, F_SETFD, FD_CLOEXEC);
    options.masterListenFd = environment.store_fd;
  }
  return options;
}

// LibTorch writes to sockets whose other end may be gone, and expects an error
// for it, as programs in Python get.
void IgnoreBrokenPipes() {
  struct sigaction action = {};
  if (sigaction(SIGPIPE, nullptr, &action) != 0) return;
  if (action.sa_handler == SIG_DFL) signal(SIGPIPE, SIG_IGN);
}

std::string ArrivalKey(int rank) { return absl::StrCat("arrived/", rank); }

}  // namespace

struct Work::Pending {
  ProcessGroup::Impl* group = nullptr;
  at::Tensor tensor;
  c10::intrusive_ptr<c10d::Work> work;
};

struct ProcessGroup::Impl {
  explicit Impl(Environment e) : environment(std::move(e)) {}

  void Meet();
  void WaitForAll();
  void Register(ProcessGroup* group);
  void Unregister();
  void CloseConnections();
  // The status of `operation`, which may throw; the first failure is kept.
  template <typename Operation>
  absl::Status Try(Operation operation);
  absl::Status Failed(const absl::Status& cause);
  std::string Explain(const std::string& message);
  bool serves() const {
    return environment.rank == 0 && !environment.agent_store;
  }
  Work Start(const at::Tensor& tensor,
             const std::function<c10::intrusive_ptr<c10d::Work>(
                 std::vector<at::Tensor>&)>& operation);

  const Environment environment;
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  bool registered = false;
  // They hold connections open.
  std::vector<std::weak_ptr<Work::Pending>> pending;

  mutable std::mutex mutex;  // of what follows
  absl::Status failure;
  std::vector<int> lost;
};

void ProcessGroup::Impl::Meet() {
  const milliseconds timeout = std::min(environment.peer_timeout, kMeeting);
  auto tcp = c10::make_intrusive<c10d::TCPStore>(
      environment.master_addr, StoreOptions(environment, timeout));
  // A restarted training must not see what the last one left behind.
  store = c10::make_intrusive<c10d::PrefixStore>(
      absl::StrCat("slipway/", environment.restart), std::move(tcp));
  WaitForAll();
}

// Asks again and again: the store's own wait grumbles on standard error when
// its time is up, and does not know who is missing.
void ProcessGroup::Impl::WaitForAll() {
  store->set(ArrivalKey(environment.rank), std::vector<uint8_t>{1});
  const milliseconds patience = std::min(environment.peer_timeout, kMeeting);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  int next = 0;
  while (next < environment.world_size) {
    if (store->check({ArrivalKey(next)})) {
      ++next;
    } else if (std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(kPause);
    } else {
      break;
    }
  }
  for (int rank = next; rank < environment.world_size; ++rank) {
    if (!store->check({ArrivalKey(rank)})) lost.push_back(rank);
  }
  TORCH_CHECK(lost.empty(), RankNames(lost), " of ", environment.world_size,
              " did not come within ", patience.count() / 1000.0, " s");
}

void ProcessGroup::Impl::Register(ProcessGroup* owner) {
  group->setGroupName(kWorldGroup);
  c10d::register_process_group(kWorldGroup, group);
  registered = true;
  const std::lock_guard<std::mutex> lock(Groups().mutex);
  Groups().groups[kWorldGroup] = owner;
}

void ProcessGroup::Impl::Unregister() {
  if (!registered) return;
  registered = false;
  c10d::unregister_process_group(kWorldGroup);
  const std::lock_guard<std::mutex> lock(Groups().mutex);
  Groups().groups.erase(kWorldGroup);
}

// Ranks that wait for this one learn of a failure by that.
void ProcessGroup::Impl::CloseConnections() {
  for (const std::weak_ptr<Work::Pending>& weak : pending) {
    if (const auto operation = weak.lock()) operation->work.reset();
  }
  pending.clear();
  try {
    Unregister();
    group.reset();
  } catch (const std::exception&) {
    // The connections end with the process at the latest.
  }
}

template <typename Operation>
absl::Status ProcessGroup::Impl::Try(Operation operation) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!failure.ok()) return failure;
  }
  const absl::Status status = Guarded(operation);
  return status.ok() ? status : Failed(status);
}

absl::Status ProcessGroup::Impl::Failed(const absl::Status& cause) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (!failure.ok()) return failure;
  std::string message = WithoutSource(std::string(cause.message()));
  // Before they have met nobody answers.
  if (group != nullptr) {
    CloseConnections();
    message = Explain(message);
  }
  failure = absl::UnavailableError(message);
  return failure;
}

std::string ProcessGroup::Impl::Explain(const std::string& message) {
  const Absent absent =
      RollCall(store, environment.rank, environment.world_size, serves())
          .Answer();
  lost = absent.ranks;
  if (!absent.reasons.empty()) {
    return absl::StrCat("left: ", absl::StrJoin(absent.reasons, "; "));
  }
  if (lost.empty()) return message;
  return absl::StrCat(RankNames(lost), " of ", environment.world_size,
                      lost.size() == 1 ? " does" : " do",
                      " not answer: ", message);
}

Work ProcessGroup::Impl::Start(
    const at::Tensor& tensor,
    const std::function<
        c10::intrusive_ptr<c10d::Work>(std::vector<at::Tensor>&)>& operation) {
  if (environment.world_size == 1) return Work();
  if (group == nullptr && failure.ok()) {
    return Work(absl::FailedPreconditionError(
        "the ranks are not connected: Connect comes first"));
  }
  auto started = std::make_shared<Work::Pending>();
  started->group = this;
  started->tensor = tensor;
  Work work(Try([&] {
    std::vector<at::Tensor> tensors = {tensor};
    started->work = operation(tensors);
  }));
  if (!work.result_.ok()) return work;
  std::erase_if(pending, [](const auto& weak) { return weak.expired(); });
  pending.push_back(started);
  work.pending_ = std::move(started);
  return work;
}

absl::Status Work::Wait() {
  if (pending_ == nullptr) return result_;
  const std::shared_ptr<Pending> pending = std::move(pending_);
  result_ = pending->group->Try([&] { pending->work->wait(); });
  return result_;
}

ProcessGroup::ProcessGroup(Environment environment)
    : impl_(std::make_unique<Impl>(std::move(environment))) {}

ProcessGroup::~ProcessGroup() { impl_->CloseConnections(); }

ProcessGroup* ProcessGroup::Find(std::string_view name) {
  const std::lock_guard<std::mutex> lock(Groups().mutex);
  const auto found = Groups().groups.find(name);
  return found != Groups().groups.end() ? found->second : nullptr;
}

absl::Status ProcessGroup::Connect(at::Device device) {
  if (!distributed()) return absl::OkStatus();
  IgnoreBrokenPipes();
  return impl_->Try([&] {
    impl_->Meet();
    auto group = c10::make_intrusive<c10d::ProcessGroup>(impl_->store, rank(),
                                                         world_size());
    using Type = c10d::ProcessGroup::BackendType;
    group->setBackend(at::kCPU, Type::GLOO,
                      MakeGloo(impl_->store, environment()));
    group->setDefaultBackend(Type::GLOO);
    if (device.is_cuda()) {
      group->setBackend(at::kCUDA, Type::NCCL,
                        MakeNccl(impl_->store, environment()));
    }
    impl_->group = std::move(group);
    impl_->Register(this);
  });
}

bool ProcessGroup::connected() const { return impl_->group != nullptr; }

const Environment& ProcessGroup::environment() const {
  return impl_->environment;
}

Work ProcessGroup::AllReduce(const at::Tensor& tensor) {
  return impl_->Start(tensor, [&](std::vector<at::Tensor>& tensors) {
    return impl_->group->allreduce(tensors);
  });
}

Work ProcessGroup::Broadcast(const at::Tensor& tensor, int root) {
  return impl_->Start(tensor, [&](std::vector<at::Tensor>& tensors) {
    c10d::BroadcastOptions options;
    options.rootRank = root;
    return impl_->group->broadcast(tensors, options);
  });
}

absl::StatusOr<std::vector<at::Tensor>> ProcessGroup::AllGather(
    const at::Tensor& tensor) {
  if (!distributed()) return std::vector<at::Tensor>{tensor};
  std::vector<std::vector<at::Tensor>> outputs(1);
  Work work = impl_->Start(tensor, [&](std::vector<at::Tensor>& tensors) {
    for (int i = 0; i < world_size(); ++i) {
      outputs[0].push_back(at::empty_like(tensor));
    }
    return impl_->group->allgather(outputs, tensors);
  });
  if (absl::Status status = work.Wait(); !status.ok()) return status;
  return outputs[0];
}

absl::Status ProcessGroup::Barrier() {
  return impl_
      ->Start(at::Tensor(),
              [&](std::vector<at::Tensor>&) { return impl_->group->barrier(); })
      .Wait();
}

absl::Status ProcessGroup::failure() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->failure;
}

std::vector<int> ProcessGroup::lost_ranks() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->lost;
}

void ProcessGroup::Leave(const absl::Status& reason) {
  if (impl_->group == nullptr || !failure().ok()) return;
  RollCall roll_call(impl_->store, rank(), world_size(), impl_->serves());
  roll_call.Leave(std::string(reason.message()));
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->failure = absl::UnavailableError(
        absl::StrCat("this rank has left: ", reason.message()));
  }
  impl_->CloseConnections();
  roll_call.StayForOthers();
}

}  // namespace slipway::dist
