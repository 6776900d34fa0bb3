#include "plugins/compile/compiler/verdict.h"

#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"

namespace slipway::compile {
namespace {

constexpr size_t kLastLines = 3;
constexpr size_t kLongestLine = 300;
constexpr std::streamoff kTail = 65536;

// Of the log's end; lines of white space are left out.
std::vector<std::string> LastLines(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kTail));
  const std::string text((std::istreambuf_iterator<char>(file)),
                         std::istreambuf_iterator<char>());
  std::vector<std::string> lines =
      absl::StrSplit(text, '\n', absl::SkipWhitespace());
  return lines;
}

struct Reason {
  std::string kind, message, hint;
};

std::optional<Reason> ReasonIn(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("error")) return std::nullopt;
  const auto text = [&](const char* key) {
    const auto found = json.find(key);
    const bool is_text = found != json.end() && found->is_string();
    return is_text ? found->get<std::string>() : std::string();
  };
  return Reason{text("error"), text("message"), text("hint")};
}

std::optional<Reason> LastReason(const std::vector<std::string>& lines) {
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (auto reason = ReasonIn(*line)) return reason;
  }
  return std::nullopt;
}

absl::StatusCode CodeOf(const std::string& kind) {
  if (kind == "unsupported") return absl::StatusCode::kUnimplemented;
  if (kind == "environment") return absl::StatusCode::kFailedPrecondition;
  return absl::StatusCode::kInternal;
}

// What a program wrote, fit for a message.
std::string Quoted(const std::vector<std::string>& lines) {
  const size_t first =
      lines.size() > kLastLines ? lines.size() - kLastLines : 0;
  std::vector<std::string> last;
  for (size_t i = first; i < lines.size(); ++i) {
    const std::string line(absl::StripAsciiWhitespace(lines[i]));
    last.push_back(absl::CHexEscape(line.substr(0, kLongestLine)));
  }
  if (last.empty()) return "it said nothing";
  return absl::StrCat("it said: ", absl::StrJoin(last, " | "));
}

std::string SignalName(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name ? absl::StrCat("SIG", name) : absl::StrCat("signal ", signal);
}

}  // namespace

absl::Status Verdict(int ended, const std::string& log) {
  if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return absl::OkStatus();
  const std::vector<std::string> lines = LastLines(log);
  const std::string where = absl::StrCat("; its log is ", log);
  if (WIFSIGNALED(ended)) {
    const int signal = WTERMSIG(ended);
    return absl::AbortedError(absl::StrCat(
        "the compiler was ended by ", SignalName(signal),
        signal == SIGKILL ? ", as happens where memory is short" : "", "; ",
        Quoted(lines), where));
  }
  if (const std::optional<Reason> reason = LastReason(lines)) {
    const std::string hint =
        reason->hint.empty() ? "" : absl::StrCat(" (", reason->hint, ")");
    return absl::Status(CodeOf(reason->kind),
                        absl::StrCat(reason->message, hint, where));
  }
  return absl::InternalError(absl::StrCat("the compiler ended with exit code ",
                                          WEXITSTATUS(ended), "; ",
                                          Quoted(lines), where));
}

}  // namespace slipway::compile
