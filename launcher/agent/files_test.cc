#include "launcher/agent/files.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/ray_driver/messages.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string Write(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

std::string Content(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

FileSum Sum(const std::string& path) {
  absl::StatusOr<FileSum> sum = SumOf(path);
  EXPECT_TRUE(sum.ok()) << sum.status();
  return *sum;
}

TEST(SumOf, IsOfTheContentBehindALink) {
  const std::string file = Write("sum", "abc");
  const std::string link = testing::TempDir() + "/link";
  fs::remove(link);
  fs::create_symlink(file, link);
  chmod(file.c_str(), 0755);
  const FileSum sum = Sum(link);
  EXPECT_EQ(sum.path, link);
  EXPECT_EQ(sum.size, 3);
  EXPECT_EQ(sum.mode, 0755);
  EXPECT_THAT(sum.sha256, testing::StartsWith("ba7816bf"));
  EXPECT_FALSE(SumOf(testing::TempDir()).ok());
}

TEST(ShippedFiles, AreUsedInPlaceWhereTheyAreTheSame) {
  const std::string path = Write("same", "content");
  ShippedFiles files;
  EXPECT_EQ(
      files.Compare(ManifestOf({Sum(path)}, Comparison::kContent))["root"], "");
}

TEST(ShippedFiles, AreKnownByTheirInodesOnOneFileSystem) {
  const std::string path = Write("inode", "content");
  const absl::StatusOr<FileSum> stat = StatOf(path);
  ASSERT_TRUE(stat.ok());
  ShippedFiles files;
  EXPECT_EQ(files.Compare(ManifestOf({*stat}, Comparison::kInode))["root"], "");
  Write("inode", "changed");
  EXPECT_TRUE(
      files.Compare(ManifestOf({*stat}, Comparison::kInode))["root"].is_null());
}

TEST(ShippedFiles, AreUnpackedWhereTheyDifferAndVanishInTheEnd) {
  const std::string path = Write("differs", std::string(200000, 'x'));
  FileSum sum = Sum(path);
  sum.mode = 0755;
  const std::string content = Content(path);
  Write("differs", "older");
  std::string root;
  {
    ShippedFiles files;
    root = files.Compare(ManifestOf({sum}, Comparison::kContent))["root"];
    ASSERT_NE(root, "");
    for (size_t at = 0; at < content.size(); at += messages::kMaxPiece) {
      ASSERT_TRUE(
          files
              .Take(messages::Join({sum.path, "755", at == 0 ? "new" : "more",
                                    content.substr(at, messages::kMaxPiece)}))
              .ok());
    }
    const nlohmann::json complete =
        files.Compare(ManifestOf({sum}, Comparison::kUnpacked));
    EXPECT_EQ(complete["complete"], true) << complete;
    EXPECT_EQ(Content(root + path), content);
    EXPECT_EQ(Sum(root + path).mode, 0755);
  }
  EXPECT_FALSE(fs::exists(root));
}

TEST(ShippedFiles, TellAPieceThatWasLost) {
  const std::string path = Write("lost", "two pieces");
  const FileSum sum = Sum(path);
  fs::remove(path);
  ShippedFiles files;
  files.Compare(ManifestOf({sum}, Comparison::kContent));
  ASSERT_TRUE(files.Take(messages::Join({path, "644", "new", "two"})).ok());
  const nlohmann::json answer =
      files.Compare(ManifestOf({sum}, Comparison::kUnpacked));
  EXPECT_THAT(answer["error"].get<std::string>(), HasSubstr("differs"));
}

TEST(ShippedFiles, NeverLeaveTheirFolder) {
  const std::string path = Write("inside", "x");
  const FileSum sum = Sum(path);
  fs::remove(path);
  ShippedFiles files;
  const std::string piece =
      messages::Join({"/a/../../../escaped", "644", "new", "x"});
  EXPECT_FALSE(files.Take(piece).ok());  // there is no folder yet
  files.Compare(ManifestOf({sum}, Comparison::kContent));
  EXPECT_FALSE(files.Take(piece).ok());
  EXPECT_FALSE(files.Take(messages::Join({"relative", "644", "new", ""})).ok());
  EXPECT_FALSE(files.Take("noise").ok());
}

}  // namespace
}  // namespace slipway::launcher
