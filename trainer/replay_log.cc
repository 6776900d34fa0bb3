#include "trainer/replay_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <utility>

#include "ATen/Parallel.h"
#include "absl/strings/str_cat.h"
#include "trainer/checkpoint/atomic_file.h"
#include "trainer/plan/environment.h"
#include "trainer/version.h"

namespace slipway {
namespace {

using nlohmann::ordered_json;

// Cuts the file off after its last newline, and returns what is left.
off_t CutHalfLine(int fd) {
  off_t size = lseek(fd, 0, SEEK_END);
  char byte = 0;
  while (size > 0 && pread(fd, &byte, 1, size - 1) == 1 && byte != '\n') {
    --size;
  }
  return ftruncate(fd, size) == 0 ? size : -1;
}

ordered_json ToJson(const loop::StateRecord& record) {
  ordered_json parts = ordered_json::object();
  for (const auto& [name, hash] : record.hashes) parts[name] = hash;
  return {{"kind", "state"},       {"rank", record.rank},
          {"epoch", record.epoch}, {"batch", record.batch},
          {"step", record.step},   {"parts", std::move(parts)}};
}

loop::StateRecord ToRecord(const ordered_json& line) {
  loop::StateRecord record;
  record.rank = line.at("rank");
  record.epoch = line.at("epoch");
  record.batch = line.at("batch");
  record.step = line.at("step");
  for (const auto& [name, hash] : line.at("parts").items()) {
    record.hashes.emplace_back(name, hash.get<std::string>());
  }
  return record;
}

// Throws nlohmann's exceptions for what is no such line.
void ReadLine(const std::string& text, ReplayLog& log) {
  const ordered_json line = ordered_json::parse(text);
  const std::string kind = line.at("kind");
  if (kind == "start") log.environments.push_back(line.at("environment"));
  if (kind == "state") log.records.push_back(ToRecord(line));
}

absl::Status WrongLine(const std::string& path, int number) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ":", number,
                   ": expected a line of state hashes, as {\"kind\": "
                   "\"state\", ...}"));
}

}  // namespace

std::string ReplayLogPath(const std::string& run_dir, int rank) {
  if (rank == 0) return absl::StrCat(run_dir, "/state_hashes.jsonl");
  return absl::StrCat(run_dir, "/state_hashes.rank", rank, ".jsonl");
}

ordered_json ReplayEnvironment(const nn::Module& model) {
  const plan::Environment here = plan::DetectEnvironment();
  const std::vector<nn::NamedTensor> parameters = model.NamedParameters();
  const at::Device device =
      parameters.empty() ? at::kCPU : parameters[0].second.device();
  return {{"threads", at::get_num_threads()},
          {"cpu", here.cpu_isa},
          {"device", device.str()},
          {"world_size", here.world_size},
          {"libtorch", here.libtorch_version},
          {"slipway", kVersion}};
}

absl::StatusOr<std::unique_ptr<ReplayLogWriter>> ReplayLogWriter::Open(
    const std::string& path, const ordered_json& environment, int64_t every) {
  const int fd =
      open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, "open", path);
  std::unique_ptr<ReplayLogWriter> writer(new ReplayLogWriter(path, fd, every));
  const off_t size = CutHalfLine(fd);
  if (size < 0) return ErrnoStatus(errno, "shorten", path);
  absl::Status status;
  if (size == 0) {
    status = writer->WriteLine({{"kind", "header"}, {"schema", 1}});
  }
  if (status.ok()) {
    status =
        writer->WriteLine({{"kind", "start"}, {"environment", environment}});
  }
  if (!status.ok()) return status;
  return writer;
}

ReplayLogWriter::ReplayLogWriter(std::string path, int fd, int64_t every)
    : path_(std::move(path)), fd_(fd), every_(every) {}

ReplayLogWriter::~ReplayLogWriter() { close(fd_); }

bool ReplayLogWriter::Wants(const loop::StateRecord& place, bool edge) {
  return edge || place.step % every_ == 0;
}

absl::Status ReplayLogWriter::Observe(const loop::StateRecord& record) {
  return WriteLine(ToJson(record));
}

absl::Status ReplayLogWriter::WriteLine(const ordered_json& object) {
  constexpr auto kReplace = ordered_json::error_handler_t::replace;
  const std::string line = object.dump(-1, ' ', false, kReplace) + "\n";
  const ssize_t written = write(fd_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return absl::OkStatus();
  return ErrnoStatus(written < 0 ? errno : ENOSPC, "write", path_);
}

absl::StatusOr<ReplayLog> ReadReplayLog(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return ErrnoStatus(errno, "open", path);
  ReplayLog log;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    // The last line, which a killed run did not write to its end.
    if (file.eof()) break;
    try {
      ReadLine(line, log);
    } catch (const nlohmann::json::exception&) {
      return WrongLine(path, number);
    }
  }
  if (!log.records.empty() && !log.environments.empty()) return log;
  return absl::InvalidArgumentError(
      absl::StrCat(path, " has no state to compare with"));
}

}  // namespace slipway
