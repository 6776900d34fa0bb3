#include "trainer/report/testing/read_events.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>

#include "gtest/gtest.h"
#include "trainer/report/crc32c.h"

namespace slipway {
namespace {

using Points = std::map<std::string, std::vector<ScalarPoint>>;

// A message as its fields: varints as text of eight bytes, the rest as it is.
std::multimap<int, std::string> Fields(const std::string& message) {
  std::multimap<int, std::string> fields;
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0; at < message.size(); shift += 7) {
      const auto byte = static_cast<uint8_t>(message[at++]);
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) break;
    }
    return value;
  };
  while (at < message.size()) {
    const uint64_t key = varint();
    const uint64_t number = key % 8 == 0 ? varint() : 0;
    size_t size = key % 8 == 1 ? 8 : 4;
    if (key % 8 == 2) size = varint();
    if (key % 8 == 0) {
      fields.emplace(key / 8,
                     std::string(reinterpret_cast<const char*>(&number), 8));
    } else {
      fields.emplace(key / 8, message.substr(at, size));
      at += size;
    }
  }
  return fields;
}

std::string Only(const std::multimap<int, std::string>& fields, int number) {
  const auto found = fields.find(number);
  return found == fields.end() ? std::string(8, '\0') : found->second;
}

template <typename T>
T As(const std::string& bytes) {
  T value = {};
  std::memcpy(&value, bytes.data(), std::min(sizeof(value), bytes.size()));
  return value;
}

void Forget(Points& points, int64_t from) {
  for (auto& [tag, list] : points) {
    std::erase_if(list,
                  [from](const ScalarPoint& p) { return p.step >= from; });
  }
}

void AddEvent(const std::string& event, Points& points) {
  const auto fields = Fields(event);
  const auto step = As<int64_t>(Only(fields, 2));
  if (fields.contains(7)) Forget(points, step);
  if (!fields.contains(5)) return;
  const auto summary = Fields(Only(fields, 5));
  const auto [first, last] = summary.equal_range(1);
  for (auto value = first; value != last; ++value) {
    const auto parts = Fields(value->second);
    if (!parts.contains(2)) continue;
    points[Only(parts, 1)].push_back({step, As<float>(Only(parts, 2))});
  }
}

void AddFile(const std::string& path, Points& points) {
  std::ifstream file(path, std::ios::binary);
  char head[12];
  while (file.read(head, sizeof(head))) {
    const auto size = As<uint64_t>(std::string(head, 8));
    ASSERT_EQ(As<uint32_t>(std::string(head + 8, 4)),
              MaskedCrc32c(std::string(head, 8)));
    std::string event(size, '\0');
    char tail[4];
    if (!file.read(event.data(), static_cast<std::streamsize>(size)) ||
        !file.read(tail, sizeof(tail))) {
      return;
    }
    ASSERT_EQ(As<uint32_t>(std::string(tail, 4)), MaskedCrc32c(event));
    AddEvent(event, points);
  }
}

}  // namespace

void PrintTo(const ScalarPoint& point, std::ostream* out) {
  *out << point.step << ": " << point.value;
}

std::vector<std::string> EventFilesIn(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().find("tfevents") !=
        std::string::npos) {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

Points ReadScalars(const std::string& folder) {
  Points points;
  for (const std::string& file : EventFilesIn(folder)) AddFile(file, points);
  return points;
}

}  // namespace slipway
