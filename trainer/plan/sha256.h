// SHA-256 of a text, in hex.
//
//   Sha256("")  // "e3b0c442...7852b855"
//
// Pure; safe from any thread.
#ifndef SLIPWAY_TRAINER_PLAN_SHA256_H_
#define SLIPWAY_TRAINER_PLAN_SHA256_H_

#include <string>
#include <string_view>

namespace slipway::plan {

// 64 lower-case hex digits.
std::string Sha256(std::string_view text);

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_SHA256_H_
