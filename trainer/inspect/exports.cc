#include "trainer/inspect/exports.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "absl/status/status.h"

namespace slipway::inspect {
namespace {

// Bytes of the file, all accesses checked.
class Image {
 public:
  explicit Image(std::string bytes) : bytes_(std::move(bytes)) {}

  // Nullopt if it would reach beyond the end.
  template <typename T>
  std::optional<T> At(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) {
      return std::nullopt;
    }
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  // The text that starts there; empty if there is none.
  std::string Text(uint64_t offset) const {
    if (offset >= bytes_.size()) return "";
    const size_t length = strnlen(&bytes_[offset], bytes_.size() - offset);
    return bytes_.substr(offset, length);
  }

 private:
  const std::string bytes_;
};

std::optional<Elf64_Shdr> SectionAt(const Image& image,
                                    const Elf64_Ehdr& header, uint64_t index) {
  if (index >= header.e_shnum) return std::nullopt;
  // A damaged file's sum may wrap: wherever it points then, At() has a look.
  return image.At<Elf64_Shdr>(header.e_shoff + index * sizeof(Elf64_Shdr));
}

bool IsExport(const Elf64_Sym& symbol) {
  return symbol.st_shndx != SHN_UNDEF &&
         ELF64_ST_BIND(symbol.st_info) != STB_LOCAL &&
         (ELF64_ST_VISIBILITY(symbol.st_other) == STV_DEFAULT ||
          ELF64_ST_VISIBILITY(symbol.st_other) == STV_PROTECTED);
}

std::vector<std::string> ExportsIn(const Image& image,
                                   const Elf64_Shdr& symbols,
                                   const Elf64_Shdr& names) {
  std::vector<std::string> exports;
  for (uint64_t i = 0; i < symbols.sh_size / sizeof(Elf64_Sym); ++i) {
    const std::optional<Elf64_Sym> symbol =
        image.At<Elf64_Sym>(symbols.sh_offset + i * sizeof(Elf64_Sym));
    if (!symbol) break;
    if (!IsExport(*symbol)) continue;
    exports.push_back(image.Text(names.sh_offset + symbol->st_name));
  }
  std::sort(exports.begin(), exports.end());
  exports.erase(std::unique(exports.begin(), exports.end()), exports.end());
  return exports;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExportedSymbols(
    const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const Image image(std::string(std::istreambuf_iterator<char>(file), {}));
  const std::optional<Elf64_Ehdr> header = image.At<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_shentsize != sizeof(Elf64_Shdr)) {
    return absl::InvalidArgumentError("not a 64-bit ELF file with sections");
  }
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const std::optional<Elf64_Shdr> section = SectionAt(image, *header, i);
    if (!section || section->sh_type != SHT_DYNSYM) continue;
    const std::optional<Elf64_Shdr> names =
        SectionAt(image, *header, section->sh_link);
    if (names) return ExportsIn(image, *section, *names);
  }
  return absl::InvalidArgumentError("it has no table of dynamic symbols");
}

}  // namespace slipway::inspect
