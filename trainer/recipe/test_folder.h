// A folder of recipes that a test writes.
//
//   TestFolder folder("override_test");
//   folder.Write("group/choice.yaml", "a: 1\n");
//   Compose({.recipe = "main", .recipe_path = {folder.path()}}, problems);
//
// It lies below the test's temporary folder and starts empty. Not thread-safe.
#ifndef SLIPWAY_TRAINER_RECIPE_TEST_FOLDER_H_
#define SLIPWAY_TRAINER_RECIPE_TEST_FOLDER_H_

#include <string>
#include <string_view>

namespace slipway::recipe {

class TestFolder {
 public:
  explicit TestFolder(std::string_view name);

  const std::string& path() const { return path_; }

  // Writes a file, creating the folders above it; returns its path.
  std::string Write(std::string_view file, std::string_view text) const;

  // `text` with the folder's own path, which differs from run to run, left out.
  std::string WithoutPath(std::string text) const;

 private:
  std::string path_;
};

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_TEST_FOLDER_H_
