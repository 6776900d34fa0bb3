// What a shared library looks like from outside, read from the file: nothing of
// it runs.
//
//   absl::StatusOr<LibraryFile> file = ReadLibraryFile("libema.so");
//   EXPECT_THAT(file->exports, ElementsAre("slipway_plugin_entry_v1"));
#ifndef SLIPWAY_PLUGINS_TESTING_LIBRARY_FILE_H_
#define SLIPWAY_PLUGINS_TESTING_LIBRARY_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace slipway::testing {

// Symbols by their mangled names, without versions.
struct LibraryFile {
  std::vector<std::string> exports;  // defined, for others to use
  std::vector<std::string> imports;  // used, and others' to define
  // All that it defines, hidden ones too; `exports` alone in a stripped file.
  std::vector<std::string> defined;
  std::vector<std::string> needed;  // libraries
  std::vector<std::string> paths;   // RPATH and RUNPATH
};

// INVALID_ARGUMENT for what is no 64-bit ELF file, or is cut short.
absl::StatusOr<LibraryFile> ReadLibraryFile(const std::string& path);

}  // namespace slipway::testing

#endif  // SLIPWAY_PLUGINS_TESTING_LIBRARY_FILE_H_
