#include "trainer/recipe/test_folder.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"

namespace slipway::recipe {

namespace fs = std::filesystem;

TestFolder::TestFolder(std::string_view name)
    : path_((fs::path(testing::TempDir()) / name).string()) {
  fs::remove_all(path_);
  fs::create_directories(path_);
}

std::string TestFolder::Write(std::string_view file,
                              std::string_view text) const {
  const fs::path path = fs::path(path_) / file;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  return path.string();
}

std::string TestFolder::WithoutPath(std::string text) const {
  return absl::StrReplaceAll(text, {{path_ + "/", ""}, {path_, "FOLDER"}});
}

}  // namespace slipway::recipe
