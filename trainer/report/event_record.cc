#include "trainer/report/event_record.h"

#include <bit>
#include <cstring>
#include <utility>

#include "trainer/report/crc32c.h"

namespace slipway {
namespace {

static_assert(std::endian::native == std::endian::little);

// Wire types of protocol buffers.
enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// --- writing -----------------------------------------------------------------

void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    out.push_back(static_cast<char>(value | 0x80));
  }
  out.push_back(static_cast<char>(value));
}

void AppendKey(std::string& out, uint32_t field, Wire wire) {
  AppendVarint(out, field << 3 | wire);
}

template <typename T>
void AppendRaw(std::string& out, T value) {
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  out.append(bytes, sizeof(value));
}

void AppendNumber(std::string& out, uint32_t field, int64_t value) {
  if (value == 0) return;  // proto3 leaves defaults out
  AppendKey(out, field, kVarint);
  AppendVarint(out, static_cast<uint64_t>(value));
}

void AppendBytes(std::string& out, uint32_t field, std::string_view bytes) {
  AppendKey(out, field, kBytes);
  AppendVarint(out, bytes.size());
  out.append(bytes);
}

std::string EventOf(double wall_time, int64_t step) {
  std::string event;
  AppendKey(event, 1, kFixed64);
  AppendRaw(event, wall_time);
  AppendNumber(event, 2, step);
  return event;
}

// SummaryMetadata{plugin_data{plugin_name: "text", content: version 0}}; the
// content's only field has its default, so that it is empty.
std::string TextMetadata() {
  std::string plugin_data;
  AppendBytes(plugin_data, 1, "text");
  std::string metadata;
  AppendBytes(metadata, 1, plugin_data);
  return metadata;
}

// TensorProto{dtype: DT_STRING, shape: [1], string_val: text}.
std::string TextTensor(std::string_view text) {
  constexpr int64_t kString = 7;
  std::string dim, shape, tensor;
  AppendNumber(dim, 1, 1);
  AppendBytes(shape, 2, dim);
  AppendNumber(tensor, 1, kString);
  AppendBytes(tensor, 2, shape);
  AppendBytes(tensor, 8, text);
  return tensor;
}

// --- reading -----------------------------------------------------------------

// Takes fields off the front of a message; anything wrong empties `good`.
struct Reader {
  std::string_view rest;
  bool good = true;

  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest.front());
      rest.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    good = false;
    return 0;
  }

  std::string_view Take(uint64_t size) {
    if (size > rest.size()) {
      good = false;
      return {};
    }
    const std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  }

  struct Field {
    uint32_t number = 0;
    uint64_t varint = 0;
    std::string_view bytes;  // of every other wire type
  };

  Field Next() {
    const uint64_t key = Varint();
    Field field{.number = static_cast<uint32_t>(key >> 3)};
    switch (key & 7) {
      case kVarint:
        field.varint = Varint();
        break;
      case kFixed64:
        field.bytes = Take(8);
        break;
      case kBytes:
        field.bytes = Take(Varint());
        break;
      case kFixed32:
        field.bytes = Take(4);
        break;
      default:
        good = false;
    }
    return field;
  }

  bool more() const { return good && !rest.empty(); }
};

// The bytes of the first field `number` of `message`; empty without one.
std::string_view FirstOf(std::string_view message, uint32_t number,
                         bool& good) {
  Reader reader{message};
  while (reader.more()) {
    const Reader::Field field = reader.Next();
    if (reader.good && field.number == number) return field.bytes;
  }
  good = good && reader.good;
  return {};
}

template <typename T>
T Raw(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

}  // namespace

std::string EncodeFileVersion(double wall_time) {
  std::string event = EventOf(wall_time, 0);
  AppendBytes(event, 3, "brain.Event:2");
  return event;
}

std::string EncodeSessionStart(double wall_time, int64_t step) {
  std::string log;
  AppendNumber(log, 1, 1);
  std::string event = EventOf(wall_time, step);
  AppendBytes(event, 7, log);
  return event;
}

std::string EncodeScalars(double wall_time, int64_t step,
                          const NamedValues& scalars) {
  std::string summary;
  for (const auto& [tag, number] : scalars) {
    std::string value;
    AppendBytes(value, 1, tag);
    AppendKey(value, 2, kFixed32);
    AppendRaw(value, static_cast<float>(number));
    AppendBytes(summary, 1, value);
  }
  std::string event = EventOf(wall_time, step);
  AppendBytes(event, 5, summary);
  return event;
}

std::string EncodeText(double wall_time, int64_t step, std::string_view tag,
                       std::string_view text) {
  std::string value;
  AppendBytes(value, 1, std::string(tag) + "/text_summary");
  AppendBytes(value, 8, TextTensor(text));
  AppendBytes(value, 9, TextMetadata());
  std::string summary;
  AppendBytes(summary, 1, value);
  std::string event = EventOf(wall_time, step);
  AppendBytes(event, 5, summary);
  return event;
}

std::optional<EventHead> DecodeEvent(std::string_view bytes) {
  EventHead head;
  Reader reader{bytes};
  while (reader.more()) {
    const Reader::Field field = reader.Next();
    if (field.number == 1 && field.bytes.size() == sizeof(double)) {
      head.wall_time = Raw<double>(field.bytes);
    } else if (field.number == 2) {
      head.step = static_cast<int64_t>(field.varint);
    } else if (field.number == 5 && head.tag.empty()) {
      const std::string_view value = FirstOf(field.bytes, 1, reader.good);
      head.tag = FirstOf(value, 1, reader.good);
    }
  }
  if (!reader.good) return std::nullopt;
  return head;
}

std::string FrameRecord(std::string_view event) {
  std::string record;
  record.reserve(event.size() + 16);
  AppendRaw(record, uint64_t{event.size()});
  AppendRaw(record, MaskedCrc32c(record));
  record.append(event);
  AppendRaw(record, MaskedCrc32c(event));
  return record;
}

std::vector<std::string_view> SplitRecords(std::string_view file) {
  constexpr size_t kHead = 12, kTail = 4;
  std::vector<std::string_view> events;
  while (file.size() >= kHead + kTail) {
    const auto size = Raw<uint64_t>(file);
    if (Raw<uint32_t>(file.substr(8)) != MaskedCrc32c(file.substr(0, 8)) ||
        size > file.size() - kHead - kTail) {
      break;
    }
    const std::string_view event = file.substr(kHead, size);
    if (Raw<uint32_t>(file.substr(kHead + size)) != MaskedCrc32c(event)) break;
    events.push_back(event);
    file.remove_prefix(kHead + size + kTail);
  }
  return events;
}

}  // namespace slipway
