#include "launcher/ray_driver/cluster_nodes.h"

#include <ray/api.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>

// Exported by libray_api.so, and declared in no header that comes with it.
namespace ray {
namespace gcs {
class GlobalStateAccessor {
 public:
  ~GlobalStateAccessor();
  std::vector<std::string> GetAllNodeInfo();
  std::vector<std::string> GetAllAvailableResources();
  std::unique_ptr<std::string> GetInternalKV(const std::string& space,
                                             const std::string& key);
};
}  // namespace gcs
namespace internal {
class ProcessHelper {
 public:
  std::unique_ptr<gcs::GlobalStateAccessor> CreateGlobalStateAccessor(
      const std::string& ip, int port);
};
}  // namespace internal
}  // namespace ray

namespace slipway {
namespace {

// A field of a protobuf message: `number` for varints, `bits` for doubles,
// `text` for what has a length.
struct Field {
  uint32_t id = 0;
  uint64_t number = 0;
  double real = 0;
  std::string text;
};

bool ReadVarint(const std::string& bytes, size_t& at, uint64_t& value) {
  value = 0;
  for (int shift = 0; at < bytes.size() && shift < 64; shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes[at++]);
    value |= static_cast<uint64_t>(byte & 127) << shift;
    if ((byte & 128) == 0) return true;
  }
  return false;
}

// Calls `take` for every field, up to the first that is broken.
void ForEachField(const std::string& bytes,
                  const std::function<void(const Field&)>& take) {
  for (size_t at = 0; at < bytes.size();) {
    uint64_t key = 0;
    if (!ReadVarint(bytes, at, key)) return;
    Field field;
    field.id = static_cast<uint32_t>(key >> 3);
    switch (key & 7) {
      case 0:
        if (!ReadVarint(bytes, at, field.number)) return;
        break;
      case 1:
        if (bytes.size() - at < 8) return;
        std::memcpy(&field.real, &bytes[at], 8);
        at += 8;
        break;
      case 2: {
        uint64_t size = 0;
        if (!ReadVarint(bytes, at, size) || bytes.size() - at < size) return;
        field.text = bytes.substr(at, size);
        at += size;
        break;
      }
      case 5:
        if (bytes.size() - at < 4) return;
        at += 4;
        break;
      default:
        return;
    }
    take(field);
  }
}

std::string Hex(const std::string& bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

// An entry of map<string, double>, as ",CPU=2".
std::string Entry(const std::string& bytes) {
  std::string name;
  double amount = 0;
  ForEachField(bytes, [&](const Field& field) {
    if (field.id == 1) name = field.text;
    if (field.id == 2) amount = field.real;
  });
  char text[64];
  std::snprintf(text, sizeof(text), "=%.10g", amount);
  return "," + name + text;
}

std::string Tail(const std::string& list) {
  return list.empty() ? list : list.substr(1);
}

// GcsNodeInfo; false for a node that is dead.
bool ReadNode(const std::string& bytes, ClusterNode& node) {
  bool alive = true;
  std::string total;
  ForEachField(bytes, [&](const Field& field) {
    switch (field.id) {
      case 1:
        node.id = Hex(field.text);
        break;
      case 2:
        node.address = field.text;
        break;
      case 3:
        node.raylet_socket = field.text;
        break;
      case 7:
        alive = field.number == 0;
        break;
      case 8:
        node.host = field.text;
        break;
      case 11:
        total += Entry(field.text);
        break;
      default:
        break;
    }
  });
  node.total = Tail(total);
  return alive;
}

// AvailableResources.
void ReadAvailable(const std::string& bytes, std::vector<ClusterNode>& nodes) {
  std::string id, available;
  ForEachField(bytes, [&](const Field& field) {
    if (field.id == 1) id = Hex(field.text);
    if (field.id == 2) available += Entry(field.text);
  });
  for (ClusterNode& node : nodes) {
    if (node.id == id) node.available = Tail(available);
  }
}

// "2.60.0" of {"ray_version": "2.60.0", ...}.
std::string VersionIn(const std::string& metadata) {
  const std::string name = "\"ray_version\": \"";
  const size_t at = metadata.find(name);
  if (at == metadata.npos) return "";
  const size_t start = at + name.size();
  return metadata.substr(start, metadata.find('"', start) - start);
}

}  // namespace

std::string ReadCluster(const std::string& ip, int port, Cluster& cluster) {
  ray::internal::ProcessHelper helper;
  const std::unique_ptr<ray::gcs::GlobalStateAccessor> head =
      helper.CreateGlobalStateAccessor(ip, port);
  if (head == nullptr) return "the head does not answer";
  const std::unique_ptr<std::string> metadata =
      head->GetInternalKV("cluster", "CLUSTER_METADATA");
  if (metadata != nullptr) cluster.ray_version = VersionIn(*metadata);
  for (const std::string& bytes : head->GetAllNodeInfo()) {
    ClusterNode node;
    if (ReadNode(bytes, node)) cluster.nodes.push_back(node);
  }
  for (const std::string& bytes : head->GetAllAvailableResources()) {
    ReadAvailable(bytes, cluster.nodes);
  }
  return "";
}

}  // namespace slipway
