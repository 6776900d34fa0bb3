#include "trainer/checkpoint/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace slipway {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kCentralSignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kLocator64Signature = 0x07064b50;
constexpr uint64_t kLocalSize = 30;
constexpr uint64_t kCentralSize = 46;
constexpr uint64_t kEndSize = 22;
constexpr uint64_t kEnd64Size = 56;
constexpr uint64_t kLocator64Size = 20;
constexpr uint64_t kAlignment = 64;
constexpr uint32_t kMax32 = std::numeric_limits<uint32_t>::max();
constexpr uint16_t kMax16 = std::numeric_limits<uint16_t>::max();
constexpr uint16_t kZip64Tag = 1;
// The tag under which PyTorch pads; any unknown tag would do.
constexpr uint16_t kPaddingTag = 0x4246;

uint32_t Crc(std::string_view data) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
}

// Little-endian numbers, whatever the machine.
template <typename T>
void Put(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    out.push_back(static_cast<char>(value >> (8 * i)));
  }
}

template <typename T>
T Get(std::string_view bytes, size_t offset) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[offset + i]);
    value = static_cast<T>(value | (static_cast<T>(byte) << (8 * i)));
  }
  return value;
}

uint32_t Clamp32(uint64_t value) {
  return value >= kMax32 ? kMax32 : static_cast<uint32_t>(value);
}

bool Needs64(const ZipEntry& entry) {
  return entry.size >= kMax32 || entry.offset >= kMax32;
}

// version needed, flags, method (stored), time and date (fixed: equal states
// make equal files), CRC, sizes, lengths.
void PutCommonHeader(std::string& out, const ZipEntry& entry,
                     size_t extra_size) {
  Put<uint16_t>(out, Needs64(entry) ? 45 : 20);
  Put<uint16_t>(out, 0);
  Put<uint16_t>(out, 0);
  Put<uint32_t>(out, 0x00210000);  // 1980-01-01 00:00
  Put<uint32_t>(out, entry.crc);
  Put<uint32_t>(out, Clamp32(entry.size));
  Put<uint32_t>(out, Clamp32(entry.size));
  Put<uint16_t>(out, static_cast<uint16_t>(entry.name.size()));
  Put<uint16_t>(out, static_cast<uint16_t>(extra_size));
}

std::string LocalHeader(const ZipEntry& entry) {
  std::string extra;
  if (entry.size >= kMax32) {
    Put<uint16_t>(extra, kZip64Tag);
    Put<uint16_t>(extra, 16);
    Put<uint64_t>(extra, entry.size);
    Put<uint64_t>(extra, entry.size);
  }
  // Padding, so that the data starts aligned; its own header takes 4 bytes.
  const uint64_t start =
      entry.offset + kLocalSize + entry.name.size() + extra.size() + 4;
  const uint64_t padding = (kAlignment - start % kAlignment) % kAlignment;
  Put<uint16_t>(extra, kPaddingTag);
  Put<uint16_t>(extra, static_cast<uint16_t>(padding));
  extra.append(padding, 'Z');

  std::string header;
  Put<uint32_t>(header, kLocalSignature);
  PutCommonHeader(header, entry, extra.size());
  return header + entry.name + extra;
}

std::string CentralHeader(const ZipEntry& entry) {
  std::string extra;
  if (Needs64(entry)) {
    std::string numbers;
    if (entry.size >= kMax32) {
      Put<uint64_t>(numbers, entry.size);
      Put<uint64_t>(numbers, entry.size);
    }
    if (entry.offset >= kMax32) Put<uint64_t>(numbers, entry.offset);
    Put<uint16_t>(extra, kZip64Tag);
    Put<uint16_t>(extra, static_cast<uint16_t>(numbers.size()));
    extra += numbers;
  }
  std::string header;
  Put<uint32_t>(header, kCentralSignature);
  Put<uint16_t>(header, 45);
  PutCommonHeader(header, entry, extra.size());
  header.append(6, '\0');  // no comment, disk 0, no internal attributes
  Put<uint32_t>(header, 0);
  Put<uint32_t>(header, Clamp32(entry.offset));
  return header + entry.name + extra;
}

std::string EndRecords(uint64_t offset, uint64_t size, uint64_t count) {
  std::string end;
  if (offset >= kMax32 || size >= kMax32 || count >= kMax16) {
    const uint64_t position = offset + size;
    Put<uint32_t>(end, kEnd64Signature);
    Put<uint64_t>(end, kEnd64Size - 12);
    Put<uint16_t>(end, 45);
    Put<uint16_t>(end, 45);
    end.append(8, '\0');  // disk numbers
    Put<uint64_t>(end, count);
    Put<uint64_t>(end, count);
    Put<uint64_t>(end, size);
    Put<uint64_t>(end, offset);
    Put<uint32_t>(end, kLocator64Signature);
    Put<uint32_t>(end, 0);
    Put<uint64_t>(end, position);
    Put<uint32_t>(end, 1);
  }
  const auto short_count =
      static_cast<uint16_t>(std::min<uint64_t>(count, kMax16));
  Put<uint32_t>(end, kEndSignature);
  end.append(4, '\0');
  Put<uint16_t>(end, short_count);
  Put<uint16_t>(end, short_count);
  Put<uint32_t>(end, Clamp32(size));
  Put<uint32_t>(end, Clamp32(offset));
  Put<uint16_t>(end, 0);
  return end;
}

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(
      absl::StrCat("damaged zip archive: ", std::string(what)));
}

struct Directory {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t count = 0;
};

// The end record is the file's last 22 bytes: checkpoints carry no comment.
absl::StatusOr<Directory> FindDirectory(const ByteSource& source) {
  if (source.size() < kEndSize) return Damaged("too short for one");
  const uint64_t end_offset = source.size() - kEndSize;
  absl::StatusOr<std::string> end = source.Read(end_offset, kEndSize);
  if (!end.ok()) return end.status();
  if (Get<uint32_t>(*end, 0) != kEndSignature) {
    return Damaged("its end is missing (not a zip file, or truncated)");
  }
  Directory directory = {.offset = Get<uint32_t>(*end, 16),
                         .size = Get<uint32_t>(*end, 12),
                         .count = Get<uint16_t>(*end, 10)};
  if (end_offset < kLocator64Size) return directory;
  absl::StatusOr<std::string> locator =
      source.Read(end_offset - kLocator64Size, kLocator64Size);
  if (!locator.ok()) return locator.status();
  if (Get<uint32_t>(*locator, 0) != kLocator64Signature) return directory;
  absl::StatusOr<std::string> end64 =
      source.Read(Get<uint64_t>(*locator, 8), kEnd64Size);
  if (!end64.ok()) return end64.status();
  if (Get<uint32_t>(*end64, 0) != kEnd64Signature) {
    return Damaged("its 64-bit end record is missing");
  }
  return Directory{.offset = Get<uint64_t>(*end64, 48),
                   .size = Get<uint64_t>(*end64, 40),
                   .count = Get<uint64_t>(*end64, 32)};
}

// Fills the fields that say "see the Zip64 extra field". False if it is short.
bool Apply64(std::string_view extra, uint64_t& compressed, ZipEntry& entry) {
  while (extra.size() >= 4) {
    const auto tag = Get<uint16_t>(extra, 0);
    const size_t length = Get<uint16_t>(extra, 2);
    extra.remove_prefix(4);
    if (length > extra.size()) return false;
    std::string_view field = extra.substr(0, length);
    extra.remove_prefix(length);
    if (tag != kZip64Tag) continue;
    for (uint64_t* value : {&entry.size, &compressed, &entry.offset}) {
      if (*value != kMax32) continue;
      if (field.size() < 8) return false;
      *value = Get<uint64_t>(field, 0);
      field.remove_prefix(8);
    }
  }
  return true;
}

bool IsSafeName(std::string_view name) {
  if (name.empty() || name.front() == '/') return false;
  if (name.find('\\') != name.npos || name.find('\0') != name.npos) {
    return false;
  }
  const std::string slashed = absl::StrCat("/", std::string(name), "/");
  return !absl::StrContains(slashed, "/../");
}

// Parses the directory's first entry and removes it from `bytes`.
absl::StatusOr<ZipEntry> TakeEntry(std::string_view& bytes) {
  if (bytes.size() < kCentralSize ||
      Get<uint32_t>(bytes, 0) != kCentralSignature) {
    return Damaged("an entry of its directory is missing");
  }
  const size_t name_size = Get<uint16_t>(bytes, 28);
  const size_t extra_size = Get<uint16_t>(bytes, 30);
  const size_t comment_size = Get<uint16_t>(bytes, 32);
  const size_t total = kCentralSize + name_size + extra_size + comment_size;
  if (bytes.size() < total) return Damaged("its directory is cut short");
  ZipEntry entry;
  entry.name = std::string(bytes.substr(kCentralSize, name_size));
  entry.crc = Get<uint32_t>(bytes, 16);
  entry.size = Get<uint32_t>(bytes, 24);
  entry.offset = Get<uint32_t>(bytes, 42);
  uint64_t compressed = Get<uint32_t>(bytes, 20);
  if (!Apply64(bytes.substr(kCentralSize + name_size, extra_size), compressed,
               entry)) {
    return Damaged(
        absl::StrCat("sizes of record \"", entry.name, "\" are incomplete"));
  }
  if (Get<uint16_t>(bytes, 10) != 0 || compressed != entry.size) {
    return absl::InvalidArgumentError(
        absl::StrCat("record \"", entry.name,
                     "\" is compressed; checkpoints store their records"));
  }
  bytes.remove_prefix(total);
  return entry;
}

}  // namespace

absl::Status ZipWriter::Add(const std::string& name, std::string_view data) {
  ZipEntry entry = {.name = name,
                    .offset = file_.size(),
                    .size = data.size(),
                    .crc = Crc(data)};
  absl::Status status = file_.Append(LocalHeader(entry));
  if (!status.ok()) return status;
  entries_.push_back(std::move(entry));
  return file_.Append(data);
}

absl::Status ZipWriter::Finish() {
  const uint64_t offset = file_.size();
  std::string directory;
  for (const ZipEntry& entry : entries_) directory += CentralHeader(entry);
  directory += EndRecords(offset, directory.size(), entries_.size());
  return file_.Append(directory);
}

absl::StatusOr<ZipReader> ZipReader::Open(const ByteSource& source) {
  absl::StatusOr<Directory> directory = FindDirectory(source);
  if (!directory.ok()) return directory.status();
  ZipReader reader(source);
  absl::Status status = reader.ReadDirectory(directory->offset, directory->size,
                                             directory->count);
  if (!status.ok()) return status;
  return reader;
}

absl::Status ZipReader::ReadDirectory(uint64_t offset, uint64_t size,
                                      uint64_t count) {
  absl::StatusOr<std::string> bytes = source_->Read(offset, size);
  if (!bytes.ok()) return bytes.status();
  std::string_view rest = *bytes;
  for (uint64_t i = 0; i < count; ++i) {
    absl::StatusOr<ZipEntry> entry = TakeEntry(rest);
    if (!entry.ok()) return entry.status();
    if (!IsSafeName(entry->name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("record name \"", entry->name, "\" is not allowed"));
    }
    std::string name = entry->name;
    if (!entries_.emplace(name, *std::move(entry)).second) {
      return Damaged(absl::StrCat("two records are named \"", name, "\""));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> ZipReader::Size(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) {
    return absl::NotFoundError(
        absl::StrCat("no record \"", name, "\" in the archive"));
  }
  return it->second.size;
}

absl::StatusOr<uint64_t> ZipReader::DataOffset(const ZipEntry& entry) const {
  absl::StatusOr<std::string> header = source_->Read(entry.offset, kLocalSize);
  if (!header.ok()) return header.status();
  if (Get<uint32_t>(*header, 0) != kLocalSignature) {
    return Damaged(absl::StrCat("record \"", entry.name, "\" has no header"));
  }
  return entry.offset + kLocalSize + Get<uint16_t>(*header, 26) +
         Get<uint16_t>(*header, 28);
}

absl::Status ZipReader::ReadInto(const std::string& name, uint64_t size,
                                 char* out) const {
  const auto it = entries_.find(name);
  if (it == entries_.end() || it->second.size != size) {
    return absl::NotFoundError(absl::StrCat("no record \"", name, "\" of ",
                                            size, " bytes in the archive"));
  }
  absl::StatusOr<uint64_t> offset = DataOffset(it->second);
  if (!offset.ok()) return offset.status();
  absl::Status status = source_->Read(*offset, size, out);
  if (!status.ok()) return status;
  if (Crc({out, size}) != it->second.crc) {
    return Damaged(absl::StrCat("checksum of record \"", name,
                                "\" differs from its content"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ZipReader::Read(const std::string& name) const {
  absl::StatusOr<uint64_t> size = Size(name);
  if (!size.ok()) return size.status();
  // Before allocating: a record cannot be larger than the file.
  if (*size > source_->size()) {
    return Damaged(absl::StrCat("record \"", name, "\" claims ", *size,
                                " bytes, more than the file has"));
  }
  std::string bytes(*size, '\0');
  absl::Status status = ReadInto(name, *size, bytes.data());
  if (!status.ok()) return status;
  return bytes;
}

}  // namespace slipway
