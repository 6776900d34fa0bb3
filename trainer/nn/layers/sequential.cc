#include "trainer/nn/layers/sequential.h"

#include <utility>

namespace slipway::nn {
namespace {

class SequentialModule : public Module {
 public:
  explicit SequentialModule(NamedModuleList modules) {
    for (auto& [name, module] : modules) {
      children_.push_back(Add(name, std::move(module)));
    }
  }
  std::string kind() const override { return "Sequential"; }

 protected:
  Value Forward(const Value& input) override {
    Value value = input;
    for (const Child& child : children_) value = child(value);
    return value;
  }

 private:
  std::vector<Child> children_;
};

}  // namespace

std::unique_ptr<Module> Sequential(ModuleList modules) {
  NamedModuleList named;
  for (auto& module : modules) {
    std::string name = std::to_string(named.size());
    named.emplace_back(std::move(name), std::move(module));
  }
  return NamedSequential(std::move(named));
}

std::unique_ptr<Module> NamedSequential(NamedModuleList modules) {
  return std::make_unique<SequentialModule>(std::move(modules));
}

}  // namespace slipway::nn
