// Texts of files, for messages.
#ifndef SLIPWAY_TRAINER_CHECKPOINT_QUOTED_H_
#define SLIPWAY_TRAINER_CHECKPOINT_QUOTED_H_

#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace slipway {

// `text` in quotation marks, whatever bytes it has: what is not ASCII escaped
// as in C, and cut after 80 bytes.
inline std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 80;
  return absl::StrCat("\"",
                      absl::CHexEscape(std::string(text.substr(0, kShown))),
                      text.size() > kShown ? "...\"" : "\"");
}

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CHECKPOINT_QUOTED_H_
