// The writing half of zip.h.
#include "trainer/checkpoint/zip.h"

#include <algorithm>
#include <utility>

#include "trainer/checkpoint/zip_format.h"

namespace slipway {
namespace {

using namespace zip;  // NOLINT: the format's names

constexpr size_t kPiece = 256 << 10;

uint32_t Clamp32(uint64_t value) {
  return value >= kMax32 ? kMax32 : static_cast<uint32_t>(value);
}

bool Needs64(const ZipEntry& entry) {
  return entry.size >= kMax32 || entry.offset >= kMax32;
}

// version needed, flags, method (stored), time and date (fixed: equal states
// make equal files), checksum, sizes, lengths.
void PutCommonHeader(std::string& out, const ZipEntry& entry, uint32_t size,
                     size_t extra_size) {
  Put<uint16_t>(out, Needs64(entry) ? 45 : 20);
  Put<uint16_t>(out, kSizesFollow);
  Put<uint16_t>(out, 0);
  Put<uint32_t>(out, 0x00210000);  // 1980-01-01 00:00
  Put<uint32_t>(out, entry.crc);
  Put<uint32_t>(out, size);
  Put<uint32_t>(out, size);
  Put<uint16_t>(out, static_cast<uint16_t>(entry.name.size()));
  Put<uint16_t>(out, static_cast<uint16_t>(extra_size));
}

// The checksum is not known yet: zeros, and the descriptor tells.
std::string LocalHeader(const ZipEntry& entry) {
  std::string extra;
  if (entry.size >= kMax32) {
    Put<uint16_t>(extra, kZip64Tag);
    Put<uint16_t>(extra, 16);
    extra.append(16, '\0');
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
  PutCommonHeader(header, entry, entry.size >= kMax32 ? kMax32 : 0,
                  extra.size());
  return header + entry.name + extra;
}

std::string Descriptor(const ZipEntry& entry) {
  std::string descriptor;
  Put<uint32_t>(descriptor, kDescriptorSignature);
  Put<uint32_t>(descriptor, entry.crc);
  if (entry.size >= kMax32) {
    Put<uint64_t>(descriptor, entry.size);
    Put<uint64_t>(descriptor, entry.size);
  } else {
    Put<uint32_t>(descriptor, static_cast<uint32_t>(entry.size));
    Put<uint32_t>(descriptor, static_cast<uint32_t>(entry.size));
  }
  return descriptor;
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
  PutCommonHeader(header, entry, Clamp32(entry.size), extra.size());
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

}  // namespace

absl::Status ZipWriter::Add(const std::string& name, std::string_view data) {
  ZipEntry entry = {.name = name, .offset = file_.size(), .size = data.size()};
  absl::Status status = file_.Append(LocalHeader(entry));
  // What has just been summed is still in the cache when it is written.
  while (status.ok() && !data.empty()) {
    const std::string_view piece = data.substr(0, kPiece);
    entry.crc = Crc(piece, entry.crc);
    status = file_.Append(piece);
    data.remove_prefix(piece.size());
  }
  if (!status.ok()) return status;
  entries_.push_back(std::move(entry));
  return file_.Append(Descriptor(entries_.back()));
}

absl::Status ZipWriter::Finish() {
  const uint64_t offset = file_.size();
  std::string directory;
  for (const ZipEntry& entry : entries_) directory += CentralHeader(entry);
  directory += EndRecords(offset, directory.size(), entries_.size());
  return file_.Append(directory);
}

}  // namespace slipway
