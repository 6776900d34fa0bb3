#include "trainer/checkpoint/safetensors.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "ATen/ops/arange.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/rand.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using ::testing::HasSubstr;

// Written by safetensors 0.8 with PyTorch 2.15 (testdata/make_fixtures.py).
constexpr char kPython[] = "trainer/checkpoint/testdata/python.safetensors";

std::string Content(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

TEST(Safetensors, ReadsEveryDtypeOfAPythonFile) {
  const absl::StatusOr<Safetensors> file = ReadSafetensors(kPython);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata.at("format"), "pt");
  ASSERT_EQ(file->tensors.size(), 20u);
  for (const auto& [name, tensor] : file->tensors) {
    if (name == "scalar") {
      EXPECT_EQ(tensor.item<double>(), 3.5);
    } else if (name == "empty") {
      EXPECT_EQ(tensor.sizes(), (std::vector<int64_t>{0, 3}));
    } else {
      const at::Tensor expected =
          at::arange(6).reshape({2, 3}).to(tensor.scalar_type());
      EXPECT_TRUE(at::equal(tensor.to(at::kDouble), expected.to(at::kDouble)))
          << name;
    }
  }
}

TEST(Safetensors, WritesTheBytesThatPythonWrites) {
  absl::StatusOr<Safetensors> file = ReadSafetensors(kPython);
  ASSERT_TRUE(file.ok());
  std::reverse(file->tensors.begin(), file->tensors.end());
  const std::string path = testing::TempDir() + "/same.safetensors";
  ASSERT_TRUE(WriteSafetensors(file->tensors, file->metadata, path).ok());
  EXPECT_EQ(Content(path), Content(kPython));
}

TEST(Safetensors, StoresViewsAndSharedMemoryByValue) {
  const at::Tensor image =
      at::rand({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  const std::string path = testing::TempDir() + "/views.safetensors";
  ASSERT_TRUE(WriteSafetensors({{"image", image},
                                {"again", image},
                                {"part", image.select(0, 1)},
                                {"wide", at::ones({1}).expand({4})}},
                               {}, path)
                  .ok());
  const absl::StatusOr<Safetensors> file = ReadSafetensors(path);
  ASSERT_TRUE(file.ok()) << file.status();
  for (const auto& [name, tensor] : file->tensors) {
    EXPECT_TRUE(tensor.is_contiguous()) << name;
    if (name == "image" || name == "again") {
      EXPECT_TRUE(at::equal(tensor, image));
    } else if (name == "part") {
      EXPECT_TRUE(at::equal(tensor, image[1]));
    }
  }
}

TEST(Safetensors, NamesPathAndTensorThatItCannotHold) {
  const std::string path = testing::TempDir() + "/complex.safetensors";
  const absl::Status status = WriteSafetensors(
      {{"c", at::ones({2}, at::dtype(at::kComplexDouble))}}, {}, path);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path + ": "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"c\" is complex128"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Safetensors, NamesThePathOfADamagedFile) {
  const std::string path = testing::TempDir() + "/cut.safetensors";
  const std::string whole = Content(kPython);
  std::ofstream(path, std::ios::binary) << whole.substr(0, whole.size() - 1);
  const absl::Status status = ReadSafetensors(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
}

}  // namespace
}  // namespace slipway
