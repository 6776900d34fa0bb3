#include "plugins/vision_classification/datasets/datasets.h"

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "plugins/vision_classification/checked.h"
#include "plugins/vision_classification/datasets/cifar.h"
#include "plugins/vision_classification/datasets/digits.h"
#include "plugins/vision_classification/datasets/image_folder.h"
#include "trainer/recipe/yaml.h"

namespace slipway::vision_classification {
namespace {

struct Defaults {
  const char* file;
  std::string_view yaml;
};

constexpr Defaults kDigitsDefaults = {
    "recipes/dataset_params/digits_dataset_params.yaml",
#include "plugins/vision_classification/datasets/digits_dataset_params.inc"
};
constexpr Defaults kCifar10Defaults = {
    "recipes/dataset_params/cifar10_dataset_params.yaml",
#include "plugins/vision_classification/datasets/cifar10_dataset_params.inc"
};
constexpr Defaults kCifar100Defaults = {
    "recipes/dataset_params/cifar100_dataset_params.yaml",
#include "plugins/vision_classification/datasets/cifar100_dataset_params.inc"
};

constexpr Defaults kImageNetDefaults = {
    "recipes/dataset_params/imagenet_dataset_params.yaml",
#include "plugins/vision_classification/datasets/imagenet_dataset_params.inc"
};

std::unique_ptr<data::Dataset> BuildDigits(const BuildArgs& args) {
  return BuildChecked<data::Dataset>(
      args, "data set Digits", [](recipe::Params& params) {
        const bool train = params.Bool("train", true);
        const int64_t channels =
            params.Int("channels", {.fallback = 1, .min = 1, .max = 3});
        if (channels == 2) {
          params.Fail("channels", "\"channels\" of data set Digits is 2",
                      "1 is grey, 3 is for models that take colours");
        }
        return std::make_unique<Digits>(
            train ? Digits::Split::kTraining : Digits::Split::kValidation,
            channels);
      });
}

std::unique_ptr<data::Dataset> BuildCifar(const BuildArgs& args,
                                          const Cifar::Format& format) {
  return BuildChecked<data::Dataset>(
      args, absl::StrCat("data set ", format.name),
      [&](recipe::Params& params) -> std::unique_ptr<data::Dataset> {
        const std::string root = params.Text("root");
        const bool train = params.Bool("train", true);
        // Nothing is downloaded; what is missing is told with its address.
        params.Ignore("download");
        if (root.empty()) return nullptr;
        absl::StatusOr<std::unique_ptr<Cifar>> cifar =
            Cifar::Open(format, root, train);
        if (cifar.ok()) return *std::move(cifar);
        params.Fail("root", std::string(cifar.status().message()));
        return nullptr;
      });
}

std::unique_ptr<data::Dataset> BuildCifar10(const BuildArgs& args) {
  return BuildCifar(args, Cifar::Cifar10());
}

std::unique_ptr<data::Dataset> BuildCifar100(const BuildArgs& args) {
  return BuildCifar(args, Cifar::Cifar100());
}

std::unique_ptr<data::Dataset> BuildImageNet(const BuildArgs& args) {
  return BuildChecked<data::Dataset>(
      args, "data set ImageNetDataset",
      [](recipe::Params& params) -> std::unique_ptr<data::Dataset> {
        const std::string root = params.Text("root");
        const bool fast =
            params.Text("decode", "exact", {"exact", "fast"}) == "fast";
        if (root.empty()) return nullptr;
        absl::StatusOr<std::unique_ptr<ImageFolder>> images =
            ImageFolder::Open(root, fast ? Decode::kFast : Decode::kExact);
        if (images.ok()) return *std::move(images);
        params.Fail("root", std::string(images.status().message()));
        return nullptr;
      });
}

// The defaults of one split, "train" or "val".
DatasetEntry WithDefaults(Factory<data::Dataset> create,
                          const recipe::Node& defaults, std::string split) {
  return {.create = std::move(create),
          .dataset_defaults = *defaults.Find(split + "_dataset_params"),
          .loader_defaults = *defaults.Find(split + "_dataloader_params")};
}

void Register(Components& components, const std::string& name,
              const std::string& loader,
              std::unique_ptr<data::Dataset> (*create)(const BuildArgs&),
              const Defaults& defaults) {
  // Of our own making: a test reads it.
  Problems none;
  const recipe::Node node =
      recipe::ParseYaml(defaults.yaml, defaults.file, none).value();
  components.datasets.Add(name, {.create = create});
  for (const char* split : {"train", "val"}) {
    components.datasets.Add(absl::StrCat(loader, "_", split),
                            WithDefaults(create, node, split));
  }
}

}  // namespace

void RegisterDatasets(Components& components) {
  Register(components, "Digits", "digits", BuildDigits, kDigitsDefaults);
  Register(components, "Cifar10", "cifar10", BuildCifar10, kCifar10Defaults);
  Register(components, "Cifar100", "cifar100", BuildCifar100,
           kCifar100Defaults);
  Register(components, "ImageNetDataset", "imagenet", BuildImageNet,
           kImageNetDefaults);
}

}  // namespace slipway::vision_classification
