#include "trainer/checkpoint/zip.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using ::testing::HasSubstr;

// The bytes of an archive of two records.
std::string TwoRecords() {
  const std::string path = testing::TempDir() + "/two.zip";
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(path);
  ZipWriter zip(*file);
  EXPECT_TRUE(zip.Add("a/first", "hello").ok());
  EXPECT_TRUE(zip.Add("a/second", std::string(1000, 'x')).ok());
  EXPECT_TRUE(zip.Finish().ok());
  EXPECT_TRUE(file->Commit().ok());
  absl::StatusOr<std::unique_ptr<ByteSource>> source = OpenFile(path);
  return *(*source)->Read(0, (*source)->size());
}

// What reading the record "a/first" of `bytes` comes to.
absl::Status ReadFirst(const std::string& bytes) {
  const auto source = MemorySource(bytes);
  absl::StatusOr<ZipReader> zip = ZipReader::Open(*source);
  if (!zip.ok()) return zip.status();
  return zip->Read("a/first").status();
}

TEST(Zip, ReadsBackWhatWasWritten) {
  const std::string bytes = TwoRecords();
  const auto source = MemorySource(bytes);
  absl::StatusOr<ZipReader> zip = ZipReader::Open(*source);
  ASSERT_TRUE(zip.ok()) << zip.status();
  EXPECT_EQ(zip->entries().size(), 2u);
  EXPECT_EQ(*zip->Read("a/first"), "hello");
  EXPECT_EQ(*zip->Read("a/second"), std::string(1000, 'x'));
}

TEST(Zip, StartsEachRecordAtAMultipleOf64) {
  const std::string bytes = TwoRecords();
  EXPECT_EQ(bytes.find("hello") % 64, 0u);
  EXPECT_EQ(bytes.find("xxxxxxxx") % 64, 0u);
}

TEST(Zip, IsTheSameForTheSameRecords) { EXPECT_EQ(TwoRecords(), TwoRecords()); }

TEST(Zip, NamesAnAbsentRecord) {
  const std::string bytes = TwoRecords();
  const auto source = MemorySource(bytes);
  const absl::Status status =
      ZipReader::Open(*source)->Read("a/third").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a/third"));
}

TEST(Zip, SeesAChangedByteOfARecord) {
  std::string bytes = TwoRecords();
  bytes[bytes.find("hello")] = 'j';
  const absl::Status status = ReadFirst(bytes);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("checksum"));
}

TEST(Zip, RefusesEveryTruncation) {
  const std::string bytes = TwoRecords();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ReadFirst(bytes.substr(0, size)).ok()) << size;
  }
}

// Flipping any bit of the directory is seen or harmless, and never crashes.
TEST(Zip, SurvivesEveryFlippedByteOfTheDirectory) {
  const std::string good = TwoRecords();
  const size_t directory = good.find("PK\x01\x02");
  ASSERT_NE(directory, good.npos);
  for (size_t i = directory; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      ReadFirst(bad).IgnoreError();
    }
  }
}

// The directory's fields of the first record, by their offset in its entry.
std::string WithField(size_t offset, const std::string& value) {
  std::string bytes = TwoRecords();
  bytes.replace(bytes.find("PK\x01\x02") + offset, value.size(), value);
  return bytes;
}

TEST(Zip, RefusesACompressedRecord) {
  const absl::Status status = ReadFirst(WithField(10, "\x08"));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("compressed"));
}

TEST(Zip, AllocatesNothingForAnAbsurdSize) {
  const std::string huge = "\xf0\xff\xff\xff";
  const absl::Status status = ReadFirst(WithField(20, huge + huge));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("more than the file"));
}

TEST(Zip, RefusesNamesThatLeadOutside) {
  const absl::Status status = ReadFirst(WithField(46, "../evil"));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("../evil"));
}

TEST(Zip, RefusesTwoRecordsOfOneName) {
  const std::string path = testing::TempDir() + "/twice.zip";
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(path);
  ZipWriter zip(*file);
  ASSERT_TRUE(zip.Add("a/first", "1").ok());
  ASSERT_TRUE(zip.Add("a/first", "2").ok());
  ASSERT_TRUE(zip.Finish().ok());
  ASSERT_TRUE(file->Commit().ok());
  absl::StatusOr<std::unique_ptr<ByteSource>> source = OpenFile(path);
  const absl::Status status = ZipReader::Open(**source).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("two records"));
}

}  // namespace
}  // namespace slipway
