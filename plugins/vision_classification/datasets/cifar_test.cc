#include "plugins/vision_classification/datasets/cifar.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ATen/ops/equal.h"
#include "gtest/gtest.h"
#include "trainer/data/rng.h"

namespace slipway::vision_classification {
namespace {

namespace fs = std::filesystem;

// A folder of this test's own.
fs::path Folder() {
  const fs::path folder =
      fs::path(testing::TempDir()) /
      testing::UnitTest::GetInstance()->current_test_info()->name();
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

// Byte `position` of image `image`'s 3072.
uint8_t PixelByte(int64_t image, int64_t position) {
  return data::Rng(1, image, position).Next() & 0xFF;
}

// `count` records of the real format, images numbered from `first`; image i is
// of class i % classes, and its coarse label, if there is one, is 19.
void WriteRecords(const fs::path& path, const Cifar::Format& format,
                  int64_t first, int64_t count) {
  std::ofstream file(path, std::ios::binary);
  for (int64_t image = first; image < first + count; ++image) {
    if (format.label_bytes == 2) file.put(19);
    file.put(static_cast<char>(image % format.classes));
    for (int64_t p = 0; p < 3072; ++p) {
      file.put(static_cast<char>(PixelByte(image, p)));
    }
  }
}

void WriteTraining(const fs::path& folder, const Cifar::Format& format) {
  int64_t first = 0;
  for (const std::string& name : format.train_files) {
    WriteRecords(folder / name, format, first, 4);
    first += 4;
  }
}

void ExpectImage(const data::Sample& sample, int64_t image, int64_t classes) {
  EXPECT_EQ(sample.target.tensor().item<int64_t>(), image % classes);
  ASSERT_EQ(sample.image.sizes(), at::IntArrayRef({32, 32, 3}));
  for (int64_t channel = 0; channel < 3; ++channel) {
    for (const auto& [y, x] : {std::pair{0, 0}, {3, 7}, {31, 31}}) {
      EXPECT_EQ(sample.image[y][x][channel].item<int64_t>(),
                PixelByte(image, channel * 1024 + y * 32 + x));
    }
  }
}

TEST(Cifar, ReadsItsFilesInOrder) {
  const fs::path folder = Folder();
  WriteTraining(folder, Cifar::Cifar10());
  const auto cifar = Cifar::Open(Cifar::Cifar10(), folder.string(), true);
  ASSERT_TRUE(cifar.ok()) << cifar.status();
  EXPECT_EQ((*cifar)->size(), 20);
  for (int64_t image : {0, 3, 4, 19}) {
    ExpectImage((*cifar)->Get(image).value(), image, 10);
  }
}

TEST(Cifar, ReadsTheFineLabelOfItsHundredClasses) {
  const fs::path folder = Folder();
  fs::create_directories(folder / "cifar-100-binary");
  WriteRecords(folder / "cifar-100-binary" / "test.bin", Cifar::Cifar100(), 50,
               3);
  const auto cifar = Cifar::Open(Cifar::Cifar100(), folder.string(), false);
  ASSERT_TRUE(cifar.ok()) << cifar.status();
  EXPECT_EQ((*cifar)->size(), 3);
  ExpectImage((*cifar)->Get(2).value(), 52, 100);
}

TEST(Cifar, KnowsClassNamesIfTheirFileIsThere) {
  const fs::path folder = Folder();
  WriteRecords(folder / "test_batch.bin", Cifar::Cifar10(), 0, 1);
  EXPECT_TRUE(Cifar::Open(Cifar::Cifar10(), folder.string(), false)
                  .value()
                  ->ClassNames()
                  .empty());
  std::ofstream(folder / "batches.meta.txt") << "airplane\nautomobile\n\n";
  EXPECT_EQ(Cifar::Open(Cifar::Cifar10(), folder.string(), false)
                .value()
                ->ClassNames(),
            (std::vector<std::string>{"airplane", "automobile"}));
}

TEST(Cifar, ReadsFromSeveralThreads) {
  const fs::path folder = Folder();
  WriteTraining(folder, Cifar::Cifar10());
  const auto cifar =
      Cifar::Open(Cifar::Cifar10(), folder.string(), true).value();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int64_t image = 0; image < 20; ++image) {
        ExpectImage(cifar->Get(image).value(), image, 10);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Cifar, SaysWhichFilesItExpects) {
  EXPECT_EQ(
      Cifar::Open(Cifar::Cifar10(), "/no/such/folder", true).status(),
      absl::NotFoundError(
          "CIFAR-10 is not at \"/no/such/folder\": expected data_batch_1.bin, "
          "data_batch_2.bin, data_batch_3.bin, data_batch_4.bin, "
          "data_batch_5.bin in it or in its folder cifar-10-batches-bin, "
          "missing all of them; unpack the \"binary version\" of "
          "https://www.cs.toronto.edu/~kriz/cifar.html there"));
  const fs::path folder = Folder();
  WriteTraining(folder, Cifar::Cifar10());
  fs::remove(folder / "data_batch_3.bin");
  const absl::Status status =
      Cifar::Open(Cifar::Cifar10(), folder.string(), true).status();
  EXPECT_NE(
      std::string(status.message()).find("missing data_batch_3.bin; unpack"),
      std::string::npos)
      << status;
}

TEST(Cifar, RefusesAFileThatIsNoWholeNumberOfRecords) {
  const fs::path folder = Folder();
  const fs::path file = folder / "test_batch.bin";
  for (int64_t bytes : {0, 100, 3 * 3073 - 1}) {
    WriteRecords(file, Cifar::Cifar10(), 0, 3);
    fs::resize_file(file, bytes);
    EXPECT_EQ(Cifar::Open(Cifar::Cifar10(), folder.string(), false).status(),
              absl::DataLossError(
                  "\"" + file.string() + "\" has " + std::to_string(bytes) +
                  " bytes, expected records of 3073; it is cut short or no "
                  "binary version of CIFAR-10"));
  }
}

TEST(Cifar, NamesTheRecordThatIsDamaged) {
  const fs::path folder = Folder();
  const fs::path file = folder / "test_batch.bin";
  WriteRecords(file, Cifar::Cifar10(), 0, 3);
  std::fstream(file, std::ios::binary | std::ios::in | std::ios::out)
      .seekp(3073)
      .put(10);
  const auto cifar =
      Cifar::Open(Cifar::Cifar10(), folder.string(), false).value();
  EXPECT_TRUE(cifar->Get(0).ok());
  EXPECT_EQ(cifar->Get(1).status(),
            absl::DataLossError("\"" + file.string() +
                                "\": record 1 is of class 10, expected one "
                                "below 10"));
  fs::resize_file(file, 3073);
  EXPECT_EQ(
      cifar->Get(2).status(),
      absl::DataLossError("\"" + file.string() + "\" has become shorter"));
}

}  // namespace
}  // namespace slipway::vision_classification
