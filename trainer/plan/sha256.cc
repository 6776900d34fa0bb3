#include "trainer/plan/sha256.h"

#include <array>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "openssl/sha.h"

namespace slipway::plan {

std::string Sha256(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         digest.data());
  return absl::BytesToHexString(absl::string_view(
      reinterpret_cast<const char*>(digest.data()), digest.size()));
}

}  // namespace slipway::plan
