#include "plugins/testing/library_file.h"

#include <elf.h>
#include <string.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace slipway::testing {
namespace {

// A file's sections. Whatever lies outside of the file reads as nothing.
class Elf {
 public:
  explicit Elf(std::string bytes) : bytes_(std::move(bytes)) {
    const Elf64_Ehdr* const header = At<Elf64_Ehdr>(0);
    if (header == nullptr || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64) {
      return;
    }
    for (int i = 0; i < header->e_shnum; ++i) {
      const auto* const section =
          At<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
      if (section == nullptr) return;
      sections_.push_back(section);
    }
  }

  bool valid() const { return !sections_.empty(); }
  const std::vector<const Elf64_Shdr*>& sections() const { return sections_; }

  template <typename T>
  const T* At(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) {
      return nullptr;
    }
    return reinterpret_cast<const T*>(bytes_.data() + offset);
  }

  // The text at `offset` of the string table that `section` links to.
  std::string Text(const Elf64_Shdr& section, uint64_t offset) const {
    if (section.sh_link >= sections_.size()) return "";
    const uint64_t begin = sections_[section.sh_link]->sh_offset + offset;
    if (begin >= bytes_.size()) return "";
    return bytes_.c_str() + begin;
  }

  template <typename Entry, typename Function>
  void ForEach(const Elf64_Shdr& section, const Function& function) const {
    for (uint64_t i = 0; i < section.sh_size / sizeof(Entry); ++i) {
      const Entry* const entry =
          At<Entry>(section.sh_offset + i * sizeof(Entry));
      if (entry == nullptr) return;
      function(*entry);
    }
  }

 private:
  std::string bytes_;
  std::vector<const Elf64_Shdr*> sections_;
};

void ReadSymbols(const Elf& elf, const Elf64_Shdr& section, LibraryFile& file) {
  const bool dynamic = section.sh_type == SHT_DYNSYM;
  elf.ForEach<Elf64_Sym>(section, [&](const Elf64_Sym& symbol) {
    std::string name = elf.Text(section, symbol.st_name);
    const int type = ELF64_ST_TYPE(symbol.st_info);
    if (name.empty() || type == STT_SECTION || type == STT_FILE) return;
    if (symbol.st_shndx == SHN_UNDEF) {
      if (dynamic) file.imports.push_back(std::move(name));
      return;
    }
    if (dynamic && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL) {
      file.exports.push_back(name);
    }
    file.defined.push_back(std::move(name));
  });
}

void ReadDynamic(const Elf& elf, const Elf64_Shdr& section, LibraryFile& file) {
  elf.ForEach<Elf64_Dyn>(section, [&](const Elf64_Dyn& entry) {
    const uint64_t value = entry.d_un.d_val;
    if (entry.d_tag == DT_NEEDED) {
      file.needed.push_back(elf.Text(section, value));
    } else if (entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH) {
      file.paths.push_back(elf.Text(section, value));
    }
  });
}

}  // namespace

absl::StatusOr<LibraryFile> ReadLibraryFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const Elf elf(std::string(std::istreambuf_iterator<char>(in), {}));
  if (!elf.valid()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", path, "\" is no shared library (64-bit ELF)"));
  }
  LibraryFile file;
  for (const Elf64_Shdr* section : elf.sections()) {
    switch (section->sh_type) {
      case SHT_DYNSYM:
      case SHT_SYMTAB:
        ReadSymbols(elf, *section, file);
        break;
      case SHT_DYNAMIC:
        ReadDynamic(elf, *section, file);
        break;
      default:
        break;
    }
  }
  return file;
}

}  // namespace slipway::testing
