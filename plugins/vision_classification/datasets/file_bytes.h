// Whole files as strings, and their names in messages.
//
//   absl::StatusOr<std::string> bytes = ReadFileBytes(path);
//
// Functions only, safe from any thread.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_DATASETS_FILE_BYTES_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_DATASETS_FILE_BYTES_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace slipway::vision_classification {

// The bytes of a regular file of at most 1 GiB. NOT_FOUND, PERMISSION_DENIED,
// RESOURCE_EXHAUSTED (too large) or DATA_LOSS; messages do not name the file.
// Never waits for a pipe or a device.
absl::StatusOr<std::string> ReadFileBytes(const std::string& path);

// `path` in quotes; as \xff all bytes above ASCII's where they are no UTF-8.
std::string Quoted(std::string_view path);

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_DATASETS_FILE_BYTES_H_
