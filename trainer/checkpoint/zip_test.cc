#include "trainer/checkpoint/zip.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using ::testing::HasSubstr;

// The bytes of an archive.
std::string Archive(
    const std::vector<std::pair<std::string, std::string>>& records) {
  const std::string path = testing::TempDir() + "/archive.zip";
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(path);
  ZipWriter zip(*file);
  for (const auto& [name, data] : records) {
    EXPECT_TRUE(zip.Add(name, data).ok());
  }
  EXPECT_TRUE(zip.Finish().ok());
  EXPECT_TRUE(file->Commit().ok());
  absl::StatusOr<std::unique_ptr<ByteSource>> source = OpenFile(path);
  return *(*source)->Read(0, (*source)->size());
}

std::string TwoRecords() {
  return Archive({{"a/first", "hello"}, {"a/second", std::string(1000, 'x')}});
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

// One change to the bytes of an archive.
struct Change {
  const char* what;
  std::string (*change)(std::string bytes);
  absl::StatusCode code;
  const char* message;
};

// Replaces what is `offset` bytes behind the first `signature`.
std::string Set(std::string bytes, const char* signature, size_t offset,
                std::string_view value) {
  const size_t start = bytes.find(signature);
  EXPECT_NE(start, bytes.npos);
  return bytes.replace(start + offset, value.size(), value);
}

constexpr char kLocal[] = "PK\x03\x04";
constexpr char kCentral[] = "PK\x01\x02";
constexpr char kEnd[] = "PK\x05\x06";

// The first record's content holds the second record, to which the directory
// points.
std::string Overlap(std::string bytes) {
  bytes = Archive({{"a/first", bytes.substr(0, bytes.find(kCentral))},
                   {"a/second", std::string(1000, 'x')}});
  const size_t inner = bytes.find("a/second") - 30;
  const size_t entry = bytes.find("a/second", bytes.find(kCentral)) - 46;
  for (size_t i = 0; i < 4; ++i) {
    bytes[entry + 42 + i] = static_cast<char>(inner >> (8 * i));
  }
  return bytes;
}

const Change kChanges[] = {
    {"compressed", [](std::string b) { return Set(b, kCentral, 10, "\x08"); },
     absl::StatusCode::kInvalidArgument, "compressed"},
    {"bomb: small in the file, huge outside",
     [](std::string b) { return Set(b, kCentral, 24, "\xf0\xff\xff\x7f"); },
     absl::StatusCode::kInvalidArgument, "compressed"},
    {"encrypted", [](std::string b) { return Set(b, kCentral, 8, "\x01"); },
     absl::StatusCode::kInvalidArgument, "encrypted"},
    {"encrypted by its own header",
     [](std::string b) { return Set(b, kLocal, 6, "\x01"); },
     absl::StatusCode::kDataLoss, "has no header that fits"},
    {"absurd size in both headers",
     [](std::string b) {
       const std::string huge = "\xf0\xff\xff\xff\xf0\xff\xff\xff";
       return Set(Set(b, kCentral, 20, huge), kLocal, 18, huge);
     },
     absl::StatusCode::kDataLoss, "4294967280 bytes overlaps"},
    {"header tells another size",
     [](std::string b) {
       return Set(Set(b, kLocal, 22, "\x04"), kLocal, 6, std::string(1, 0));
     },
     absl::StatusCode::kDataLoss, "has no header that fits"},
    {"name of the header differs",
     [](std::string b) { return Set(b, kLocal, 30, "a/fIrst"); },
     absl::StatusCode::kDataLoss, "has no header that fits"},
    {"content over what follows",
     [](std::string b) { return Set(b, kLocal, 28, "\xff\x01"); },
     absl::StatusCode::kDataLoss, "overlaps what follows"},
    {"entry beyond the file",
     [](std::string b) { return Set(b, kCentral, 42, "\xff\xff\xff\x7f"); },
     absl::StatusCode::kDataLoss, "truncated or damaged"},
    {"a record within a record", Overlap, absl::StatusCode::kDataLoss,
     "overlaps what follows"},
    {"name that leads outside",
     [](std::string b) { return Set(b, kCentral, 46, "../evil"); },
     absl::StatusCode::kInvalidArgument, "\"../evil\" is not allowed"},
    {"name from the root",
     [](std::string b) { return Set(b, kCentral, 46, "/a/evil"); },
     absl::StatusCode::kInvalidArgument, "\"/a/evil\" is not allowed"},
    {"name with a backslash",
     [](std::string b) { return Set(b, kCentral, 46, "a\\first"); },
     absl::StatusCode::kInvalidArgument, "is not allowed"},
    {"name with a control character",
     [](std::string b) { return Set(b, kCentral, 46, "\x1b[31m/x"); },
     absl::StatusCode::kDataLoss, "\"\\x1b[31m/x\" has no header"},
    {"count differs",
     [](std::string b) { return Set(b, kEnd, 8, "\x03\0\x03"); },
     absl::StatusCode::kDataLoss, "several disks"},
    {"directory elsewhere",
     [](std::string b) { return Set(b, kEnd, 16, "\x01"); },
     absl::StatusCode::kDataLoss, "not where its end says"},
    {"huge directory",
     [](std::string b) { return Set(b, kEnd, 12, "\xff\xff\xff\xff"); },
     absl::StatusCode::kDataLoss, "not where its end says"},
    {"something after its end", [](std::string b) { return b + "x"; },
     absl::StatusCode::kDataLoss, "its end is missing"},
};

TEST(Zip, RefusesWhatNoCheckpointHas) {
  for (const Change& change : kChanges) {
    const absl::Status status = ReadFirst(change.change(TwoRecords()));
    EXPECT_EQ(status.code(), change.code) << change.what << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(change.message))
        << change.what;
  }
}

TEST(Zip, RefusesTwoRecordsOfOneName) {
  const absl::Status status =
      ReadFirst(Archive({{"a/first", "1"}, {"a/first", "2"}}));
  EXPECT_THAT(std::string(status.message()), HasSubstr("two records"));
}

}  // namespace
}  // namespace slipway
