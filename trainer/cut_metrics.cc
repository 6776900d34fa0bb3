#include "trainer/cut_metrics.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "nlohmann/json.hpp"
#include "trainer/checkpoint/atomic_file.h"

namespace slipway {
namespace {

using nlohmann::json;

int64_t IntAt(const json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number_integer()
             ? found->get<int64_t>()
             : 0;
}

std::string TextAt(const json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>()
                                                   : "";
}

// Whether `line` tells of what was before the checkpoint.
bool IsEarlier(const json& line, const MetricsPlace& place) {
  const std::string kind = TextAt(line, "kind");
  const int64_t epoch = IntAt(line, "epoch"), step = IntAt(line, "step");
  if (kind == "step") return step < place.step;
  if (kind == "epoch") {
    const bool in_the_middle =
        TextAt(line, "split") != "train" && step <= place.step;
    return epoch < place.epoch || in_the_middle;
  }
  return epoch <= place.epoch && step <= place.step;
}

std::string EarlierLines(std::istream& in, const MetricsPlace& place) {
  std::string kept;
  for (std::string text; std::getline(in, text) && !in.eof();) {
    const json line = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!line.is_object()) break;
    if (IsEarlier(line, place)) kept += text + "\n";
  }
  return kept;
}

}  // namespace

absl::Status CutMetrics(const std::string& path, const MetricsPlace& place) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return absl::OkStatus();
  std::ifstream in(path, std::ios::binary);
  if (!in) return ErrnoStatus(errno, "read", path);
  return WriteFileAtomically(path, EarlierLines(in, place));
}

}  // namespace slipway
