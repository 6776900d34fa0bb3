// What of a program has to be on the machine that runs it.
//
//   const Shipment shipment = FindShipment({"/w/train", "--config=a.yaml"},
//   {}); shipment.files;    // {"/w/train", "/w/a.yaml"} Moved({"/w/train",
//   "--config=a.yaml"}, shipment, "/tmp/x");
//   // {"/tmp/x/w/train", "--config=/tmp/x/w/a.yaml"}
//
// The program itself, the files that its command line names, the folders that
// it searches (--recipe_path, --plugin_path), and a folder of its runfiles.
// What belongs to the system (/usr, /lib, ...) is on every machine; data sets,
// LibTorch and Python's packages are too large, and have to be.
#ifndef SLIPWAY_LAUNCHER_RAY_SHIPMENT_H_
#define SLIPWAY_LAUNCHER_RAY_SHIPMENT_H_

#include <set>
#include <string>
#include <vector>

namespace slipway::launcher {

struct Shipment {
  // Absolute, sorted.
  std::set<std::string> files;
  // Folders that were asked for as such; their files are among those above.
  std::set<std::string> folders;
};

// `folders`: to be shipped whole, besides.
Shipment FindShipment(const std::vector<std::string>& argv,
                      const std::vector<std::string>& folders);

// The command line with the paths that they have beneath `root`.
std::vector<std::string> Moved(const std::vector<std::string>& argv,
                               const Shipment& shipment,
                               const std::string& root);

// The shared libraries of this process that are not the C library's own.
std::vector<std::string> OwnLibraries();

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_RAY_SHIPMENT_H_
