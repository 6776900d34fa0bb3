// Texts as files encode them.
#ifndef SLIPWAY_TRAINER_CHECKPOINT_UTF8_H_
#define SLIPWAY_TRAINER_CHECKPOINT_UTF8_H_

#include <optional>
#include <string>
#include <string_view>

namespace slipway {

// Whether `text` is UTF-8 (RFC 3629): no overlong forms, no surrogates.
bool IsUtf8(std::string_view text);

// Each letter's code as a byte; nullopt if `text` is no UTF-8 or has letters
// beyond U+00FF.
std::optional<std::string> Latin1FromUtf8(std::string_view text);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CHECKPOINT_UTF8_H_
