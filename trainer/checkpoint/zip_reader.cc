// The reading half of zip.h.
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "trainer/checkpoint/quoted.h"
#include "trainer/checkpoint/zip.h"
#include "trainer/checkpoint/zip_format.h"

namespace slipway {
namespace {

using namespace zip;  // NOLINT: the format's names

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(
      absl::StrCat("damaged zip archive: ", std::string(what)));
}

struct Directory {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t count = 0;
};

// The fields of an end record, 32 or 64 bit. Archives on several disks, which
// the records could describe, have other numbers than these.
template <typename Count, typename Size>
std::optional<Directory> ParseEnd(std::string_view fields) {
  const Count here = Get<Count>(fields, 0);
  const Count count = Get<Count>(fields, sizeof(Count));
  if (here != count) return std::nullopt;
  return Directory{
      .offset = Get<Size>(fields, 2 * sizeof(Count) + sizeof(Size)),
      .size = Get<Size>(fields, 2 * sizeof(Count)),
      .count = count};
}

// Of the 64-bit end record whose locator lies before `end_offset`; nullopt
// where there is none. `directory_end` becomes that record's offset.
absl::StatusOr<std::optional<Directory>> FindDirectory64(
    const ByteSource& source, uint64_t end_offset, uint64_t& directory_end) {
  if (end_offset < kLocator64Size) return std::nullopt;
  const uint64_t locator_offset = end_offset - kLocator64Size;
  absl::StatusOr<std::string> locator =
      source.Read(locator_offset, kLocator64Size);
  if (!locator.ok()) return locator.status();
  if (Get<uint32_t>(*locator, 0) != kLocator64Signature) return std::nullopt;
  directory_end = Get<uint64_t>(*locator, 8);
  absl::StatusOr<std::string> end64 = source.Read(directory_end, kEnd64Size);
  if (!end64.ok()) return end64.status();
  if (Get<uint32_t>(*end64, 0) != kEnd64Signature ||
      directory_end + kEnd64Size != locator_offset) {
    return Damaged("its 64-bit end record is missing");
  }
  const auto directory =
      ParseEnd<uint64_t, uint64_t>(std::string_view(*end64).substr(24));
  if (!directory) return Damaged("it is spread over several disks");
  return directory;
}

// The end record is the file's last 22 bytes: checkpoints carry no comment.
absl::StatusOr<Directory> FindDirectory(const ByteSource& source) {
  if (source.size() < kEndSize) return Damaged("too short for one");
  uint64_t directory_end = source.size() - kEndSize;
  absl::StatusOr<std::string> end = source.Read(directory_end, kEndSize);
  if (!end.ok()) return end.status();
  if (Get<uint32_t>(*end, 0) != kEndSignature) {
    return Damaged("its end is missing (not a zip file, or truncated)");
  }
  std::optional<Directory> directory =
      ParseEnd<uint16_t, uint32_t>(std::string_view(*end).substr(8));
  absl::StatusOr<std::optional<Directory>> directory64 =
      FindDirectory64(source, directory_end, directory_end);
  if (!directory64.ok()) return directory64.status();
  if (directory64->has_value()) directory = *directory64;
  if (!directory) return Damaged("it is spread over several disks");
  if (directory->offset > directory_end ||
      directory->size != directory_end - directory->offset) {
    return Damaged("its directory is not where its end says");
  }
  return *directory;
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

std::vector<std::string_view> Parts(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t slash = 0; (slash = path.find('/')) != path.npos;) {
    parts.push_back(path.substr(0, slash));
    path.remove_prefix(slash + 1);
  }
  parts.push_back(path);
  return parts;
}

// A relative path of plain components; folders end with a slash.
bool IsSafeName(std::string_view name) {
  if (name.ends_with('/')) name.remove_suffix(1);
  if (name.find_first_of(std::string_view("\\:\0", 3)) != name.npos) {
    return false;
  }
  for (const std::string_view part : Parts(name)) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
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
    return Damaged(absl::StrCat("sizes of record ", Quoted(entry.name),
                                " are incomplete"));
  }
  if (Get<uint16_t>(bytes, 8) & kEncrypted) {
    return absl::InvalidArgumentError(
        absl::StrCat("record ", Quoted(entry.name), " is encrypted"));
  }
  if (Get<uint16_t>(bytes, 10) != 0 || compressed != entry.size) {
    return absl::InvalidArgumentError(
        absl::StrCat("record ", Quoted(entry.name),
                     " is compressed; checkpoints store their records"));
  }
  bytes.remove_prefix(total);
  return entry;
}

// Sets entry.data. The record's own header must tell the name, and what it
// tells of checksum and size (nothing, where they follow the content).
absl::Status FindContent(const ByteSource& source, ZipEntry& entry) {
  absl::StatusOr<std::string> header =
      source.Read(entry.offset, kLocalSize + entry.name.size());
  if (!header.ok()) return header.status();
  const auto flags = Get<uint16_t>(*header, 6);
  const bool told = (flags & kSizesFollow) == 0;
  const auto size = Get<uint32_t>(*header, 22);
  if (Get<uint32_t>(*header, 0) != kLocalSignature ||
      Get<uint16_t>(*header, 26) != entry.name.size() ||
      header->substr(kLocalSize) != entry.name || (flags & kEncrypted) != 0 ||
      Get<uint16_t>(*header, 8) != 0 ||
      (told && (Get<uint32_t>(*header, 14) != entry.crc ||
                (size != kMax32 && size != entry.size)))) {
    return Damaged(absl::StrCat("record ", Quoted(entry.name),
                                " has no header that fits the directory"));
  }
  entry.data = entry.offset + kLocalSize + entry.name.size() +
               Get<uint16_t>(*header, 28);
  return absl::OkStatus();
}

}  // namespace

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
  while (!rest.empty()) {
    absl::StatusOr<ZipEntry> entry = TakeEntry(rest);
    if (!entry.ok()) return entry.status();
    if (!IsSafeName(entry->name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("record name ", Quoted(entry->name), " is not allowed"));
    }
    std::string name = entry->name;
    if (!entries_.emplace(name, *std::move(entry)).second) {
      return Damaged(absl::StrCat("two records are named ", Quoted(name)));
    }
  }
  if (entries_.size() != count) {
    return Damaged(absl::StrCat("its directory has ", entries_.size(),
                                " entries, its end says ", count));
  }
  return FindContents(offset);
}

// Records that share bytes are how a small file pretends to be a large one.
absl::Status ZipReader::FindContents(uint64_t directory_offset) {
  std::vector<const ZipEntry*> by_offset;
  for (auto& [name, entry] : entries_) {
    absl::Status status = FindContent(*source_, entry);
    if (!status.ok()) return status;
    by_offset.push_back(&entry);
  }
  absl::c_sort(by_offset, [](const ZipEntry* a, const ZipEntry* b) {
    return a->offset < b->offset;
  });
  for (size_t i = 0; i < by_offset.size(); ++i) {
    const ZipEntry& entry = *by_offset[i];
    const uint64_t end =
        i + 1 < by_offset.size() ? by_offset[i + 1]->offset : directory_offset;
    if (entry.data > end || entry.size > end - entry.data) {
      return Damaged(absl::StrCat("record ", Quoted(entry.name), " of ",
                                  entry.size, " bytes overlaps what follows"));
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

absl::Status ZipReader::ReadInto(const std::string& name, uint64_t size,
                                 char* out) const {
  const auto it = entries_.find(name);
  if (it == entries_.end() || it->second.size != size) {
    return absl::NotFoundError(absl::StrCat("no record \"", name, "\" of ",
                                            size, " bytes in the archive"));
  }
  absl::Status status = source_->Read(it->second.data, size, out);
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
  // Open has seen that it lies within the file.
  std::string bytes(*size, '\0');
  absl::Status status = ReadInto(name, *size, bytes.data());
  if (!status.ok()) return status;
  return bytes;
}

}  // namespace slipway
