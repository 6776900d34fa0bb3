// Zip archives as PyTorch writes them: records that are stored, not compressed,
// each starting at a multiple of 64 bytes.
//
//   ZipWriter zip(file);                       // an AtomicFile
//   zip.Add("archive/data.pkl", pickle);
//   zip.Finish();
//   file.Commit();
//
//   absl::StatusOr<ZipReader> zip = ZipReader::Open(*source);
//   absl::StatusOr<std::string> pickle = zip->Read("archive/data.pkl");
//
// The reader trusts nothing: every offset and size is checked against the
// file's size before it is used, so that it never allocates more than the file
// holds. Compressed and encrypted records, records that overlap or that their
// own headers describe otherwise than the directory does, duplicate names and
// names that lead out of the archive are refused; each record's CRC-32 is
// compared. Format: PKWARE's APPNOTE 6.3.10, Zip64 included.
#ifndef SLIPWAY_TRAINER_CHECKPOINT_ZIP_H_
#define SLIPWAY_TRAINER_CHECKPOINT_ZIP_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/checkpoint/atomic_file.h"
#include "trainer/checkpoint/byte_source.h"

namespace slipway {

// One place in an archive.
struct ZipEntry {
  std::string name;
  uint64_t offset = 0;  // of the local header
  uint64_t data = 0;    // offset of the content
  uint64_t size = 0;
  uint32_t crc = 0;
};

class ZipWriter {
 public:
  // `file` must outlive the writer.
  explicit ZipWriter(AtomicFile& file) : file_(file) {}

  // Writes one record, in one pass over `data`: its checksum follows it. Names
  // must be unique (the caller's business).
  absl::Status Add(const std::string& name, std::string_view data);
  // Writes the directory. Call once, last.
  absl::Status Finish();

 private:
  AtomicFile& file_;
  std::vector<ZipEntry> entries_;
};

class ZipReader {
 public:
  // `source` must outlive the reader. DATA_LOSS if it is no whole archive,
  // INVALID_ARGUMENT for what no checkpoint's archive has.
  static absl::StatusOr<ZipReader> Open(const ByteSource& source);

  const std::map<std::string, ZipEntry>& entries() const { return entries_; }
  // The record's size; NOT_FOUND.
  absl::StatusOr<uint64_t> Size(const std::string& name) const;
  // The record; DATA_LOSS if its checksum differs.
  absl::StatusOr<std::string> Read(const std::string& name) const;
  // The same into out[0, size), where `size` is the record's.
  absl::Status ReadInto(const std::string& name, uint64_t size,
                        char* out) const;

 private:
  explicit ZipReader(const ByteSource& source) : source_(&source) {}
  absl::Status ReadDirectory(uint64_t offset, uint64_t size, uint64_t count);
  absl::Status FindContents(uint64_t directory_offset);

  const ByteSource* source_;
  std::map<std::string, ZipEntry> entries_;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CHECKPOINT_ZIP_H_
