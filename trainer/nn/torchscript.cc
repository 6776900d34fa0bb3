#include "trainer/nn/torchscript.h"

#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "torch/csrc/jit/api/module.h"
#include "torch/csrc/jit/serialization/import.h"

namespace slipway::nn {
namespace {

using c10::IValue;

struct Arguments {
  std::vector<IValue> positional;
  torch::jit::Kwargs by_name;
};

IValue Argument(const Value& value) {
  TORCH_CHECK(value.is_tensor(), "a TorchScript module takes tensors, not ",
              value.ShapeString());
  return value.tensor();
}

Arguments ToArguments(const Value& input) {
  Arguments arguments;
  if (input.is_list()) {
    for (const Value& item : input.list()) {
      arguments.positional.push_back(Argument(item));
    }
  } else if (input.is_map()) {
    for (const auto& [name, item] : input.map()) {
      arguments.by_name.emplace(name, Argument(item));
    }
  } else {
    arguments.positional.push_back(Argument(input));
  }
  return arguments;
}

Value ToValue(const IValue& value);

template <typename Items>
Value ToList(const Items& items) {
  Value::List list;
  for (const IValue& item : items) list.push_back(ToValue(item));
  return Value(std::move(list));
}

Value ToMap(const c10::Dict<IValue, IValue>& dictionary) {
  Value::Map map;
  for (const auto& entry : dictionary) {
    TORCH_CHECK(entry.key().isString(),
                "a TorchScript module returned a dictionary with a key that "
                "is no string: ",
                entry.key());
    map.emplace_back(entry.key().toStringRef(), ToValue(entry.value()));
  }
  return Value(std::move(map));
}

Value ToValue(const IValue& value) {
  if (value.isNone()) return Value();
  if (value.isTensor()) return Value(value.toTensor());
  if (value.isTuple()) return ToList(value.toTupleRef().elements());
  if (value.isList()) return ToList(value.toListRef());
  TORCH_CHECK(value.isGenericDict(), "a TorchScript module returned ",
              value.tagKind(),
              "; expected tensors in tuples, lists and "
              "dictionaries");
  return ToMap(value.toGenericDict());
}

class TorchScriptModule : public Module {
 public:
  explicit TorchScriptModule(const torch::jit::Module& module)
      : module_(module) {
    module_.train(training());
  }
  std::string kind() const override { return "TorchScript module"; }
  bool opaque() const override { return true; }

 protected:
  Value Forward(const Value& input) override {
    Arguments arguments = ToArguments(input);
    return ToValue(
        module_.forward(std::move(arguments.positional), arguments.by_name));
  }
  std::vector<NamedTensor> OwnParameters() const override {
    return Named(module_.named_parameters());
  }
  std::vector<NamedTensor> OwnBuffers() const override {
    return Named(module_.named_buffers());
  }
  void OnTrain(bool on) override { module_.train(on); }

 private:
  template <typename List>
  static std::vector<NamedTensor> Named(const List& list) {
    std::vector<NamedTensor> named;
    for (const auto& item : list) named.emplace_back(item.name, item.value);
    return named;
  }

  torch::jit::Module module_;
};

// LibTorch's messages go on with its own source lines.
std::string FirstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> LoadTorchScript(
    const std::string& path) {
  std::error_code unused;
  if (!std::filesystem::is_regular_file(path, unused)) {
    return absl::NotFoundError(
        absl::StrCat("no TorchScript file \"", path, "\""));
  }
  std::string reason;
  try {
    return WrapTorchScript(torch::jit::load(path, at::Device(at::kCPU)));
  } catch (const c10::Error& error) {
    reason = FirstLine(error.what_without_backtrace());
  } catch (const std::exception& error) {
    reason = FirstLine(error.what());
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", path, "\" is no TorchScript module: ", reason,
      "; write one with Python's torch.jit.trace or torch.jit.script"));
}

std::unique_ptr<Module> WrapTorchScript(const torch::jit::Module& module) {
  return std::make_unique<TorchScriptModule>(module);
}

}  // namespace slipway::nn
