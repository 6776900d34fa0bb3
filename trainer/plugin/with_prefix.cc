#include "trainer/plugin/with_prefix.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace slipway {

absl::Status WithPrefix(absl::string_view prefix, const absl::Status& status) {
  if (status.ok()) return status;
  const std::string message = status.message().empty()
                                  ? absl::StatusCodeToString(status.code())
                                  : std::string(status.message());
  absl::Status result(status.code(), absl::StrCat(prefix, ": ", message));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    result.SetPayload(url, payload);
  });
  return result;
}

}  // namespace slipway
