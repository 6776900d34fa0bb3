#include "plugins/compile/compilation.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "ATen/Parallel.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libtorch_version.h"
#include "plugins/compile/compiler/cache.h"
#include "plugins/compile/compiler/compiler.h"
#include "trainer/plan/environment.h"
#include "trainer/plan/sha256.h"

namespace slipway::compile {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// How often Wait looks.
constexpr std::chrono::milliseconds kLook(20);

// The threads that code is generated for are this process's.
std::vector<std::string> ArgumentsOf(const CompilationRequest& request) {
  const Options& options = request.options;
  return {absl::StrCat("--candidate=", request.candidate),
          absl::StrCat("--mode=", options.mode),
          absl::StrCat("--options=", options.compiler_options),
          absl::StrCat("--threads=", at::get_num_threads()),
          absl::StrCat("--torch_version=", kLibtorchVersion)};
}

// Of the packages that this can load.
constexpr char kFormat[] = "3";

// All that the package depends on.
std::string KeyOf(const Capture& capture, const CompilationRequest& request) {
  return plan::Sha256(
      absl::StrJoin({std::string(kFormat), capture.hash,
                     absl::StrJoin(ArgumentsOf(request), "\n"),
                     absl::StrCat(request.capture.differentiate,
                                  request.capture.dynamic_batch),
                     plan::DetectEnvironment().cpu_isa},
                    "\n"));
}

absl::StatusOr<std::string> RootOf(const Options& options) {
  if (!options.cache_dir.empty()) return options.cache_dir;
  return Cache::DefaultRoot();
}

}  // namespace

struct Compilation::Impl {
  Impl(const Capture& capture, const CompilationRequest& request);
  ~Impl();

  absl::Status Prepare(const Capture& capture, const CompilationRequest& from);
  bool Look();
  absl::Status Start();
  bool Poll();
  void End(absl::StatusOr<std::string> with);

  std::optional<Clock::time_point> begin;  // the compiler's
  std::optional<Cache> cache;
  std::string key;
  CompilerCommand command;
  std::string capture_folder;
  std::string package_folder;
  std::optional<CacheLock> lock;
  std::optional<CompilerJob> job;
  std::optional<absl::StatusOr<std::string>> result;
  bool from_cache = false;
  double seconds = 0;
};

Compilation::Impl::Impl(const Capture& capture,
                        const CompilationRequest& request) {
  const absl::StatusOr<std::string> root = RootOf(request.options);
  if (!root.ok()) {
    End(root.status());
    return;
  }
  cache.emplace(*root);
  key = KeyOf(capture, request);
  if (Look()) return;
  const absl::Status status = Prepare(capture, request);
  if (!status.ok()) End(status);
}

Compilation::Impl::~Impl() {
  job.reset();
  std::error_code ignored;
  if (!capture_folder.empty()) fs::remove_all(capture_folder, ignored);
  if (!package_folder.empty()) fs::remove_all(package_folder, ignored);
}

// A damaged entry is as good as none: it is gone, and made again.
bool Compilation::Impl::Look() {
  absl::StatusOr<std::string> found = cache->Find(key);
  if (!found.ok()) return false;
  from_cache = true;
  End(std::move(found));
  return true;
}

absl::Status Compilation::Impl::Prepare(const Capture& capture,
                                        const CompilationRequest& from) {
  absl::StatusOr<std::string> folder = cache->Scratch(key + ".capture");
  if (!folder.ok()) return folder.status();
  capture_folder = *std::move(folder);
  folder = cache->Scratch(key);
  if (!folder.ok()) return folder.status();
  package_folder = *std::move(folder);
  const std::string logs = cache->root() + "/logs";
  std::error_code error;
  fs::create_directories(capture_folder, error);
  if (!error) fs::create_directories(logs, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot write to ", cache->root(), ": ", error.message()));
  }
  command.program = from.options.program;
  command.arguments = ArgumentsOf(from);
  command.arguments.push_back("--capture=" + capture_folder);
  command.arguments.push_back("--package=" + package_folder);
  if (!from.options.debug_dir.empty()) {
    command.arguments.push_back(
        absl::StrCat("--debug_dir=", from.options.debug_dir, "/",
                     from.candidate, ".", key.substr(0, 8)));
  }
  command.log = absl::StrCat(logs, "/", key, ".log");
  if (from.waits) command.nice = 0;
  if (from.options.timeout > 0) {
    command.timeout = absl::Seconds(from.options.timeout);
  }
  return WriteCapture(capture, from.capture, capture_folder);
}

bool Compilation::Impl::Poll() {
  if (result) return true;
  if (!lock) {
    absl::StatusOr<std::optional<CacheLock>> mine = cache->TryLock(key);
    if (!mine.ok()) {
      End(mine.status());
      return true;
    }
    if (!mine->has_value()) return false;
    lock = *std::move(mine);
    // Whoever had it before has made it, perhaps.
    if (Look()) return true;
    const absl::Status status = Start();
    if (!status.ok()) End(status);
    return result.has_value();
  }
  if (!job->Poll()) return false;
  if (job->status().ok()) {
    End(cache->Insert(key, package_folder));
  } else {
    End(job->status());
  }
  return true;
}

absl::Status Compilation::Impl::Start() {
  begin = Clock::now();
  absl::StatusOr<CompilerJob> started = CompilerJob::Start(command);
  if (started.ok()) job = *std::move(started);
  return started.status();
}

void Compilation::Impl::End(absl::StatusOr<std::string> with) {
  if (begin) {
    seconds = std::chrono::duration<double>(Clock::now() - *begin).count();
  }
  result = std::move(with);
  lock.reset();
}

Compilation::Compilation(const Capture& capture,
                         const CompilationRequest& request)
    : impl_(std::make_unique<Impl>(capture, request)) {}

Compilation::~Compilation() = default;

bool Compilation::Poll() { return impl_->Poll(); }

void Compilation::Wait() {
  while (!impl_->Poll()) std::this_thread::sleep_for(kLook);
}

const absl::StatusOr<std::string>& Compilation::result() const {
  return *impl_->result;
}

bool Compilation::from_cache() const { return impl_->from_cache; }

double Compilation::seconds() const { return impl_->seconds; }

}  // namespace slipway::compile
