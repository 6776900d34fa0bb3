#include "trainer/checkpoint/safetensors_header.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "trainer/checkpoint/pickle.h"
#include "trainer/checkpoint/quoted.h"
#include "trainer/checkpoint/utf8.h"

namespace slipway {
namespace {

constexpr uint64_t kLengthSize = 8;
constexpr uint64_t kMaxHeader = 100'000'000;
constexpr char kMetadata[] = "__metadata__";

struct Dtype {
  std::string_view code;  // in the file
  std::string_view name;
};

// In the order in which safetensors sorts them, from the end.
constexpr Dtype kDtypes[] = {
    {"BOOL", "bool"},
    {"U8", "uint8"},
    {"I8", "int8"},
    {"F8_E5M2", "float8_e5m2"},
    {"F8_E4M3", "float8_e4m3fn"},
    {"F8_E4M3FNUZ", "float8_e4m3fnuz"},
    {"F8_E5M2FNUZ", "float8_e5m2fnuz"},
    {"I16", "int16"},
    {"U16", "uint16"},
    {"F16", "float16"},
    {"BF16", "bfloat16"},
    {"I32", "int32"},
    {"U32", "uint32"},
    {"F32", "float32"},
    {"C64", "complex64"},
    {"F64", "float64"},
    {"I64", "int64"},
    {"U64", "uint64"},
};

const Dtype* FindName(std::string_view name) {
  const auto* found =
      absl::c_find_if(kDtypes, [&](const Dtype& d) { return d.name == name; });
  return found == std::end(kDtypes) ? nullptr : found;
}

const Dtype* FindCode(std::string_view code) {
  const auto* found =
      absl::c_find_if(kDtypes, [&](const Dtype& d) { return d.code == code; });
  return found == std::end(kDtypes) ? nullptr : found;
}

absl::Status Refuse(std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("safetensors header: ", std::string(what)));
}

// Bytes of a tensor; nullopt if there can be no such one.
std::optional<uint64_t> SizeOf(const SafetensorsEntry& entry) {
  auto size = static_cast<uint64_t>(DtypeSize(entry.dtype));
  for (int64_t extent : entry.shape) {
    if (extent < 0 ||
        __builtin_mul_overflow(size, static_cast<uint64_t>(extent), &size)) {
      return std::nullopt;
    }
  }
  return size;
}

// Takes the JSON as it is read, so that no tree of it is ever built; anything
// that is not in its place ends the parse.
class HeaderParser : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderParser(SafetensorsHeader& header) : header_(header) {}

  absl::Status status() const { return status_; }

  bool start_object(std::size_t) override {
    if (place_ == Place::kOutside) return Go(Place::kTop);
    if (place_ != Place::kTop || key_.empty()) return Unexpected("an object");
    if (key_ == kMetadata) return Go(Place::kMetadata);
    entry_ = SafetensorsEntry{.name = key_};
    seen_ = {};
    return Go(Place::kEntry);
  }

  bool key(string_t& key) override {
    key_ = std::move(key);
    if (place_ == Place::kEntry) {
      if (!seen_.insert(key_).second) return Twice(key_);
      return true;
    }
    std::set<std::string>& names =
        place_ == Place::kTop ? names_ : metadata_names_;
    if (key_.empty()) return Fail("a name is empty");
    return names.insert(key_).second || Twice(key_);
  }

  bool end_object() override {
    switch (place_) {
      case Place::kTop:
        return Go(Place::kOutside);
      case Place::kMetadata:
        return Go(Place::kTop);
      default:
        return EndEntry();
    }
  }

  bool string(string_t& text) override {
    if (place_ == Place::kMetadata) {
      header_.metadata[key_] = std::move(text);
      return true;
    }
    if (place_ != Place::kEntry || key_ != "dtype") return Unexpected("a text");
    const Dtype* dtype = FindCode(text);
    if (dtype == nullptr) {
      return Fail(absl::StrCat("tensor ", Quoted(entry_.name),
                               " has the dtype ", Quoted(text),
                               ", which LibTorch has not"));
    }
    entry_.dtype = std::string(dtype->name);
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::kEntry) return Unexpected("a list");
    if (key_ == "shape") return Go(Place::kShape);
    if (key_ == "data_offsets") return Go(Place::kOffsets);
    return Unexpected("a list");
  }

  bool end_array() override { return Go(Place::kEntry); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::kShape) {
      if (entry_.shape.size() >= kMaxDims || value > INT64_MAX) {
        return Fail(absl::StrCat("tensor ", Quoted(entry_.name),
                                 " has an absurd shape"));
      }
      entry_.shape.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (place_ != Place::kOffsets) return Unexpected("a number");
    offsets_.push_back(value);
    return offsets_.size() <= 2 || Unexpected("a third offset");
  }

  bool null() override { return Unexpected("null"); }
  bool boolean(bool) override { return Unexpected("a truth value"); }
  bool number_integer(number_integer_t) override {
    return Unexpected("a negative number");
  }
  bool number_float(number_float_t, const string_t&) override {
    return Unexpected("a fraction or a huge number");
  }
  bool binary(binary_t&) override { return Unexpected("bytes"); }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Fail(absl::StrCat("not JSON in UTF-8 at byte ", position));
  }

 private:
  enum class Place { kOutside, kTop, kMetadata, kEntry, kShape, kOffsets };
  static constexpr size_t kMaxDims = 64;

  bool Go(Place place) {
    place_ = place;
    return true;
  }

  bool Fail(std::string_view what) {
    status_.Update(Refuse(what));
    return false;
  }

  bool Twice(const std::string& name) {
    return Fail(absl::StrCat("the name ", Quoted(name), " occurs twice"));
  }

  bool Unexpected(std::string_view what) {
    return Fail(
        absl::StrCat("unexpected ", std::string(what), " at ", Quoted(key_)));
  }

  bool EndEntry() {
    if (seen_ != std::set<std::string>{"data_offsets", "dtype", "shape"} ||
        offsets_.size() != 2) {
      return Fail(absl::StrCat("tensor ", Quoted(entry_.name),
                               " needs dtype, shape and two data_offsets"));
    }
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    offsets_.clear();
    const std::optional<uint64_t> size = SizeOf(entry_);
    if (entry_.begin > entry_.end || size != entry_.size()) {
      return Fail(absl::StrCat("tensor ", Quoted(entry_.name),
                               "'s data_offsets do not fit its shape"));
    }
    header_.entries.push_back(std::move(entry_));
    return Go(Place::kTop);
  }

  SafetensorsHeader& header_;
  absl::Status status_;
  Place place_ = Place::kOutside;
  std::string key_;
  std::set<std::string> names_;
  std::set<std::string> metadata_names_;
  SafetensorsEntry entry_;
  std::set<std::string> seen_;  // keys of the entry
  std::vector<uint64_t> offsets_;
};

// The data has each tensor once, end to end, and nothing else.
absl::Status CheckOffsets(std::vector<SafetensorsEntry>& entries,
                          uint64_t data_size) {
  absl::c_sort(entries, [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t expected = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != expected) {
      return absl::DataLossError(absl::StrCat(
          "safetensors: tensor ", Quoted(entry.name), " begins at ",
          entry.begin, ", expected ", expected,
          entry.begin < expected ? " (two overlap)" : " (a hole)"));
    }
    expected = entry.end;
  }
  if (expected == data_size) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "safetensors: the tensors need ", expected, " bytes, the file has ",
      data_size, " for them", expected > data_size ? ": truncated" : ""));
}

absl::StatusOr<std::string> ReadHeaderText(const ByteSource& source) {
  absl::StatusOr<std::string> bytes = source.Read(0, kLengthSize);
  if (!bytes.ok()) return absl::DataLossError("safetensors: too short");
  uint64_t length = 0;
  for (size_t i = kLengthSize; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>((*bytes)[i]);
  }
  if (length > kMaxHeader || length > source.size() - kLengthSize) {
    return absl::DataLossError(absl::StrCat(
        "safetensors: a header of ", length, " bytes in a file of ",
        source.size(), " (truncated, or not a safetensors file)"));
  }
  return source.Read(kLengthSize, length);
}

}  // namespace

absl::StatusOr<SafetensorsHeader> ReadSafetensorsHeader(
    const ByteSource& source) {
  absl::StatusOr<std::string> text = ReadHeaderText(source);
  if (!text.ok()) return text.status();
  if (!text->starts_with('{')) return Refuse("does not begin with {");
  SafetensorsHeader header;
  HeaderParser parser(header);
  const bool whole = nlohmann::json::sax_parse(*text, &parser);
  if (!parser.status().ok()) return parser.status();
  if (!whole) return Refuse("not JSON in UTF-8");
  header.data = kLengthSize + text->size();
  absl::Status status =
      CheckOffsets(header.entries, source.size() - header.data);
  if (!status.ok()) return status;
  return header;
}

absl::Status LayOutSafetensors(std::vector<SafetensorsEntry>& entries) {
  for (const SafetensorsEntry& entry : entries) {
    if (FindName(entry.dtype) == nullptr) {
      return Refuse(absl::StrCat("tensor ", Quoted(entry.name), " is ",
                                 entry.dtype, ", which the format has not"));
    }
    if (!IsUtf8(entry.name) || entry.name.empty() || entry.name == kMetadata) {
      return Refuse(
          absl::StrCat("no tensor can be called ", Quoted(entry.name)));
    }
  }
  absl::c_sort(entries, [](const auto& a, const auto& b) {
    const Dtype* left = FindName(a.dtype);
    const Dtype* right = FindName(b.dtype);
    return left != right ? left > right : a.name < b.name;
  });
  uint64_t offset = 0;
  for (SafetensorsEntry& entry : entries) {
    entry.begin = offset;
    offset += SizeOf(entry).value();
    entry.end = offset;
  }
  std::set<std::string_view> names;
  for (const SafetensorsEntry& entry : entries) {
    if (!names.insert(entry.name).second) {
      return Refuse(
          absl::StrCat("two tensors are called ", Quoted(entry.name)));
    }
  }
  return absl::OkStatus();
}

std::string SafetensorsHeaderBytes(const SafetensorsHeader& header) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) json[kMetadata] = header.metadata;
  for (const SafetensorsEntry& entry : header.entries) {
    json[entry.name] = {{"dtype", FindName(entry.dtype)->code},
                        {"shape", entry.shape},
                        {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string bytes;
  for (size_t i = 0; i < kLengthSize; ++i) {
    bytes += static_cast<char>(text.size() >> (8 * i));
  }
  return bytes + text;
}

}  // namespace slipway
