#include "plugins/vision_classification/models/models.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "plugins/vision_classification/models/architecture.h"
#include "plugins/vision_classification/models/densenet.h"
#include "plugins/vision_classification/models/efficientnet.h"
#include "plugins/vision_classification/models/mobilenet.h"
#include "plugins/vision_classification/models/regnet.h"
#include "plugins/vision_classification/models/repvgg.h"
#include "plugins/vision_classification/models/resnet.h"
#include "plugins/vision_classification/models/resnext.h"
#include "plugins/vision_classification/models/shufflenet.h"
#include "plugins/vision_classification/models/vit.h"
#include "trainer/recipe/params.h"
// After LibTorch's headers, which define CHECK too.
#include "glog/logging.h"

namespace slipway::vision_classification {
namespace {

std::vector<Architecture> Architectures() {
  std::vector<Architecture> all;
  for (const auto family :
       {ResNetArchitectures, MobileNetArchitectures, EfficientNetArchitectures,
        RegNetArchitectures, RepVggArchitectures, ViTArchitectures,
        ResNeXtArchitectures, DenseNetArchitectures, ShuffleNetArchitectures}) {
    std::vector<Architecture> some = family();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

std::vector<std::string> ModelNames() {
  std::vector<std::string> names;
  for (const Architecture& a : Architectures()) names.push_back(a.name);
  return names;
}

std::unique_ptr<nn::Module> MakeModel(std::string_view name,
                                      const recipe::Node& arch_params,
                                      Problems& problems) {
  const std::vector<Architecture> all = Architectures();
  const auto architecture =
      std::find_if(all.begin(), all.end(),
                   [&](const Architecture& a) { return a.name == name; });
  CHECK(architecture != all.end()) << "no model " << name;
  Problems found;
  recipe::Params params(arch_params, "model " + std::string(name), found);
  const Builder build = architecture->read(params);
  params.Finish();
  const bool failed = HasErrors(found);
  std::move(found.begin(), found.end(), std::back_inserter(problems));
  return failed ? nullptr : build();
}

}  // namespace slipway::vision_classification
