#include "trainer/report/json_lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace slipway {
namespace {

using nlohmann::ordered_json;

double SystemSeconds() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

absl::Status Failed(const char* action, const std::string& path) {
  return absl::UnknownError(
      absl::StrCat("cannot ", action, " ", path, ": ", std::strerror(errno)));
}

// The length of the file up to and including its last newline.
off_t WholeLines(int fd, off_t size) {
  char byte = 0;
  while (size > 0 && pread(fd, &byte, 1, size - 1) == 1 && byte != '\n') {
    --size;
  }
  return size;
}

}  // namespace

ordered_json JsonNumber(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

ordered_json JsonObject(const NamedValues& values) {
  ordered_json object = ordered_json::object();
  for (const auto& [name, value] : values) object[name] = JsonNumber(value);
  return object;
}

absl::StatusOr<std::unique_ptr<JsonLinesReporter>> JsonLinesReporter::Open(
    const std::string& path, Clock clock) {
  const int fd =
      open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return Failed("open", path);
  std::unique_ptr<JsonLinesReporter> reporter(new JsonLinesReporter(
      path, fd, clock ? std::move(clock) : SystemSeconds));
  const off_t whole = WholeLines(fd, lseek(fd, 0, SEEK_END));
  if (ftruncate(fd, whole) != 0) return Failed("shorten", path);
  if (whole == 0) {
    absl::Status status = reporter->Write({{"kind", "header"}, {"schema", 1}});
    if (!status.ok()) return status;
  }
  return reporter;
}

JsonLinesReporter::JsonLinesReporter(std::string path, int fd, Clock clock)
    : path_(std::move(path)), fd_(fd), clock_(std::move(clock)) {}

JsonLinesReporter::~JsonLinesReporter() { close(fd_); }

absl::Status JsonLinesReporter::Write(const ordered_json& object) {
  const std::string line =
      object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) +
      "\n";
  if (write(fd_, line.data(), line.size()) !=
      static_cast<ssize_t>(line.size())) {
    return Failed("write", path_);
  }
  return absl::OkStatus();
}

absl::Status JsonLinesReporter::OnStep(const StepReport& step) {
  if (!step.logged) return absl::OkStatus();
  return Write({
      {"kind", "step"},
      {"time", clock_()},
      {"epoch", step.epoch},
      {"step", step.step},
      {"loss", step.loss ? JsonNumber(*step.loss) : ordered_json()},
      {"lr", JsonObject(step.learning_rates)},
      {"samples_per_second", JsonNumber(step.samples_per_second)},
      {"data_wait", JsonNumber(step.data_wait)},
  });
}

absl::Status JsonLinesReporter::OnEpoch(const EpochReport& epoch) {
  ordered_json line = {
      {"kind", "epoch"},
      {"split", epoch.split},
      {"epoch", epoch.epoch},
      {"step", epoch.step},
      {"metrics", JsonObject(epoch.metrics)},
      {"seconds", JsonNumber(epoch.seconds)},
  };
  if (!epoch.time.seconds.empty()) {
    line["time"] = JsonObject(epoch.time.seconds);
    line["advice"] = epoch.time.advice;
  }
  return Write(line);
}

absl::Status JsonLinesReporter::OnEvent(const EventReport& event) {
  return Write({
      {"kind", "event"},
      {"name", event.name},
      {"epoch", event.epoch},
      {"step", event.step},
      {"detail", event.detail},
  });
}

}  // namespace slipway
