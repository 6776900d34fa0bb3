#include "launcher/ray/shipment.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSystem[] = {"/usr/", "/bin/", "/sbin/", "/lib",
                                   "/etc/", "/dev/", "/proc/", "/sys/"};

constexpr const char* kSearchFlags[] = {"--recipe_path=", "--plugin_path="};

// glibc's, which belong together with the machine's loader.
constexpr const char* kOfTheSystem[] = {
    "/ld-linux", "/libc.so",      "/libm.so", "/libpthread.so", "/libdl.so",
    "/librt.so", "/libresolv.so", "/libnss_", "/libanl.so"};

bool IsOfTheSystem(const std::string& path) {
  return std::any_of(
      std::begin(kSystem), std::end(kSystem),
      [&path](const char* prefix) { return absl::StartsWith(path, prefix); });
}

std::string Absolute(const std::string& path) {
  std::error_code error;
  return fs::absolute(path, error).lexically_normal().string();
}

// A word of the command line: "--flag=" or "", and its value's parts.
struct Word {
  std::string flag;
  std::vector<std::string> parts;
};

Word Parse(const std::string& text) {
  for (const char* flag : kSearchFlags) {
    if (absl::StartsWith(text, flag)) {
      const std::string value = text.substr(std::string(flag).size());
      return {flag, absl::StrSplit(value, ':')};
    }
  }
  const size_t equals = text.find('=');
  if (absl::StartsWith(text, "-") && equals != text.npos) {
    return {text.substr(0, equals + 1), {text.substr(equals + 1)}};
  }
  return {"", {text}};
}

void AddFolder(const std::string& folder, Shipment& shipment) {
  std::error_code error;
  shipment.folders.insert(folder);
  for (fs::recursive_directory_iterator
           it(folder, fs::directory_options::follow_directory_symlink, error),
       end;
       !error && it != end; it.increment(error)) {
    std::error_code none;
    if (it->is_regular_file(none)) shipment.files.insert(it->path().string());
  }
}

}  // namespace

Shipment FindShipment(const std::vector<std::string>& argv,
                      const std::vector<std::string>& folders) {
  Shipment shipment;
  std::error_code error;
  for (const std::string& folder : folders) {
    const std::string path = Absolute(folder);
    if (!IsOfTheSystem(path + "/")) AddFolder(path, shipment);
  }
  for (const std::string& text : argv) {
    const Word word = Parse(text);
    const bool searches =
        std::find(std::begin(kSearchFlags), std::end(kSearchFlags),
                  word.flag) != std::end(kSearchFlags);
    for (const std::string& part : word.parts) {
      if (part.empty()) continue;
      const std::string path = Absolute(part);
      if (IsOfTheSystem(path)) continue;
      if (fs::is_regular_file(path, error)) shipment.files.insert(path);
      if (searches && fs::is_directory(path, error)) AddFolder(path, shipment);
    }
  }
  return shipment;
}

std::vector<std::string> Moved(const std::vector<std::string>& argv,
                               const Shipment& shipment,
                               const std::string& root) {
  std::vector<std::string> moved;
  for (const std::string& text : argv) {
    Word word = Parse(text);
    for (std::string& part : word.parts) {
      if (part.empty()) continue;
      const std::string path = Absolute(part);
      if (shipment.files.count(path) > 0 || shipment.folders.count(path) > 0) {
        part = root + path;
      }
    }
    moved.push_back(absl::StrCat(word.flag, absl::StrJoin(word.parts, ":")));
  }
  return moved;
}

std::vector<std::string> OwnLibraries() {
  std::set<std::string> libraries;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t at = line.find('/');
    if (at == line.npos) continue;
    const std::string path = line.substr(at);
    const bool of_the_system = std::any_of(
        std::begin(kOfTheSystem), std::end(kOfTheSystem),
        [&path](const char* name) { return absl::StrContains(path, name); });
    if (absl::StrContains(path, ".so") && !of_the_system) {
      libraries.insert(path);
    }
  }
  return {libraries.begin(), libraries.end()};
}

}  // namespace slipway::launcher
