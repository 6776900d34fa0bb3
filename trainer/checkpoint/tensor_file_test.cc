#include "trainer/checkpoint/tensor_file.h"

#include <fstream>
#include <string>

#include "ATen/ops/arange.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/rand.h"
#include "ATen/ops/tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using ::testing::HasSubstr;

constexpr char kTestdata[] = "trainer/checkpoint/testdata/";

// Writes one tensor and reads it back.
at::Tensor RoundTrip(const at::Tensor& tensor) {
  const std::string path = testing::TempDir() + "/round_trip.pth";
  TensorFileWriter writer;
  PickleValue tree = PickleValue::Dict();
  tree.Set("t", writer.Add(tensor));
  EXPECT_TRUE(writer.Write(tree, path).ok());
  absl::StatusOr<TensorFile> file = TensorFile::Open(path);
  EXPECT_TRUE(file.ok()) << file.status();
  absl::StatusOr<at::Tensor> back =
      file->Load(*file->tree().Find("t")->tensor());
  EXPECT_TRUE(back.ok()) << back.status();
  return *back;
}

TEST(TensorFile, KeepsValuesOfEveryDtype) {
  for (at::ScalarType type :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kInt,
        at::kShort, at::kChar, at::kByte, at::kBool}) {
    const at::Tensor tensor = at::arange(7).to(type);
    const at::Tensor back = RoundTrip(tensor);
    EXPECT_EQ(back.scalar_type(), type);
    EXPECT_TRUE(at::equal(back, tensor)) << at::toString(type);
  }
}

TEST(TensorFile, KeepsShapesAndStrides) {
  const at::Tensor image =
      at::rand({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor back = RoundTrip(image);
  EXPECT_EQ(back.strides(), image.strides());
  EXPECT_TRUE(at::equal(back, image));
  EXPECT_EQ(RoundTrip(at::ones({})).dim(), 0);
  EXPECT_EQ(RoundTrip(at::empty({0, 3})).sizes(), (std::vector<int64_t>{0, 3}));
}

TEST(TensorFile, StoresOnlyWhatAViewShows) {
  const at::Tensor large = at::rand({1000});
  EXPECT_EQ(RoundTrip(large.slice(0, 10, 12)).storage().nbytes(), 8u);
  const at::Tensor expanded = at::ones({1}).expand({5});
  EXPECT_TRUE(at::equal(RoundTrip(expanded), at::ones({5})));
}

TEST(TensorFile, SharesTheRecordOfTiedTensors) {
  const std::string path = testing::TempDir() + "/tied.pth";
  const at::Tensor weight = at::rand({3});
  TensorFileWriter writer;
  PickleValue tree = PickleValue::Dict();
  tree.Set("a", writer.Add(weight));
  tree.Set("b", writer.Add(weight));
  ASSERT_TRUE(writer.Write(tree, path).ok());
  absl::StatusOr<TensorFile> file = TensorFile::Open(path);
  const at::Tensor a = *file->Load(*file->tree().Find("a")->tensor());
  const at::Tensor b = *file->Load(*file->tree().Find("b")->tensor());
  EXPECT_EQ(a.data_ptr(), b.data_ptr());
}

TEST(TensorFile, NamesThePathOfADamagedFile) {
  const std::string path = testing::TempDir() + "/garbage.pth";
  std::ofstream(path) << "this is no archive, but it is long enough to be one";
  const absl::Status status = TensorFile::Open(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
}

// Written by torch.save of PyTorch 2.15 (testdata/make_fixtures.py).
TEST(TensorFile, ReadsAPythonStateDict) {
  absl::StatusOr<TensorFile> file =
      TensorFile::Open(std::string(kTestdata) + "python_state_dict.pth");
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<std::string> names;
  for (const auto& [key, value] : file->tree().entries()) {
    names.push_back(key.text());
  }
  EXPECT_THAT(names,
              testing::ElementsAre("0.weight", "0.bias", "1.weight", "1.bias",
                                   "1.running_mean", "1.running_var",
                                   "1.num_batches_tracked"));
  const at::Tensor weight =
      *file->Load(*file->tree().Find("0.weight")->tensor());
  EXPECT_EQ(weight.sizes(), (std::vector<int64_t>{2, 1, 3, 3}));
  EXPECT_EQ(weight.flatten()[17].item<float>(), 17.0f);
}

TEST(TensorFile, ReadsEveryPythonDtypeAndSharedStorages) {
  absl::StatusOr<TensorFile> file =
      TensorFile::Open(std::string(kTestdata) + "python_nested.pth");
  ASSERT_TRUE(file.ok()) << file.status();
  const PickleValue* dtypes = file->tree().Find("dtypes");
  ASSERT_NE(dtypes, nullptr);
  EXPECT_EQ(dtypes->entries().size(), 19u);
  for (const auto& [name, value] : dtypes->entries()) {
    ASSERT_NE(value.tensor(), nullptr) << name.text();
    absl::StatusOr<at::Tensor> tensor = file->Load(*value.tensor());
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(value.tensor()->dtype, name.text());
    EXPECT_EQ(tensor->numel(), 3);
  }
  const PickleValue* shared = file->tree().Find("shared");
  const at::Tensor whole = *file->Load(*shared->Find("whole")->tensor());
  const at::Tensor row = *file->Load(*shared->Find("row")->tensor());
  EXPECT_TRUE(at::equal(whole[1], row));
  EXPECT_EQ(whole.storage().data(), row.storage().data());
  EXPECT_EQ(file->tree().Find("epoch")->int_value(), 3);
}

TEST(TensorFile, ReadsNumpyScalarsOfBothProtocols) {
  for (const char* name : {"numpy_scalars_2.pth", "numpy_scalars_4.pth"}) {
    absl::StatusOr<TensorFile> file =
        TensorFile::Open(std::string(kTestdata) + name);
    ASSERT_TRUE(file.ok()) << file.status();
    const PickleValue& tree = file->tree();
    EXPECT_EQ(tree.entries().size(), 12u);
    EXPECT_EQ(tree.Find("float64")->number(), 0.1);
    EXPECT_EQ(tree.Find("float32")->number(), 0.1f);
    EXPECT_NEAR(tree.Find("float16")->number(), 0.1, 1e-4);
    EXPECT_EQ(tree.Find("int16")->int_value(), -7);
    EXPECT_EQ(tree.Find("uint8")->int_value(), 200);
    EXPECT_EQ(tree.Find("uint64")->number(), 0x1p63);
    EXPECT_TRUE(tree.Find("bool")->bool_value());
  }
}

TEST(TensorFile, SaysWhatToDoWithTheFormatOfBefore16) {
  const absl::Status status =
      TensorFile::Open(std::string(kTestdata) + "before_1_6.pth").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("before version 1.6; load it in Python"));
}

// An archive of a tree and what else is given.
absl::Status OpenArchive(
    const std::vector<std::pair<std::string, std::string>>& records) {
  const std::string path = testing::TempDir() + "/archive.pth";
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(path);
  ZipWriter zip(*file);
  absl::Status status;
  for (const auto& [name, data] : records) status.Update(zip.Add(name, data));
  status.Update(zip.Finish());
  status.Update(file->Commit());
  EXPECT_TRUE(status.ok()) << status;
  return TensorFile::Open(path).status();
}

TEST(TensorFile, RefusesArchivesOfAnotherKind) {
  const std::string none = Pickle(PickleValue());
  const struct {
    std::vector<std::pair<std::string, std::string>> records;
    const char* message;
  } cases[] = {
      {{{"a/notes", "x"}}, "it has no record data.pkl"},
      {{{"data.pkl", none}}, "it has no record data.pkl"},
      {{{"a/data.pkl", none}, {"b/data.pkl", none}}, "two records are called"},
      {{{"a/data.pkl", none}, {"a/byteorder", "big"}}, "byte order is \"big\""},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(std::string(OpenArchive(c.records).message()),
                HasSubstr(c.message));
  }
  EXPECT_TRUE(OpenArchive({{"a/data.pkl", none}}).ok());
}

}  // namespace
}  // namespace slipway
