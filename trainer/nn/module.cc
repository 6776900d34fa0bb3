#include "trainer/nn/module.h"

#include <algorithm>
#include <deque>
#include <set>

#include "absl/strings/str_cat.h"
#include "c10/core/GradMode.h"
#include "trainer/recipe/problem.h"
// After LibTorch's headers, which define CHECK too.
#include "glog/logging.h"

namespace slipway::nn {
namespace {

std::string JoinPath(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : absl::StrCat(prefix, ".", name);
}

// The part of `path` before its last dot, and the part behind it.
std::pair<std::string_view, std::string_view> SplitLast(std::string_view path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return {"", path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  quoted.append(text).append("\"");
  return quoted;
}

absl::Status NothingToReplace(std::string_view path) {
  return absl::InvalidArgumentError(
      path.empty() ? "cannot replace a whole model: name one of its modules"
                   : absl::StrCat("cannot replace ", Quoted(path),
                                  ": no module was given to put in its place"));
}

// The nearest opaque module that contains `path`, or null.
const Module* OpaqueAround(Module& root, std::string_view path,
                           std::string_view& where) {
  for (where = path; !where.empty();) {
    where = SplitLast(where).first;
    const Module* found = root.Find(where);
    if (found != nullptr) return found->opaque() ? found : nullptr;
  }
  return nullptr;
}

absl::Status CannotFind(Module& root, std::string_view path) {
  std::string_view where;
  if (const Module* wrapped = OpaqueAround(root, path, where)) {
    const std::string whole = where.empty() ? "the model" : Quoted(where);
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot replace ", Quoted(path), ": ", whole, " is a ", wrapped->kind(),
        ", whose parts are fixed; replace ", whole, " as a whole"));
  }
  std::vector<std::string> known;
  for (const auto& entry : root.NamedModules()) known.push_back(entry.first);
  const std::string hint = DidYouMean(path, known);
  return absl::NotFoundError(absl::StrCat(
      "no module ", Quoted(path), " in ", root.kind(),
      hint.empty() ? ": NamedModules() lists what there is" : "; ", hint));
}

}  // namespace

struct Module::Impl {
  struct Buffer {
    std::string name;
    at::Tensor tensor;
    bool persistent;
  };
  struct Slot {
    std::string name;
    std::unique_ptr<Module> module;
  };

  std::vector<NamedTensor> parameters;
  std::vector<Buffer> buffers;
  // A deque, since Child handles point into it.
  std::deque<Slot> children;
  ForwardWrapper wrapper;
  // The module's name in its parent, for messages.
  std::string name;
  std::string head;

  void CheckNew(const std::string& added) const {
    const auto same = [&](const auto& entry) { return entry.name == added; };
    CHECK(!added.empty() && added.find('.') == std::string::npos)
        << "not a name for a part of a module: \"" << added << '"';
    CHECK(std::none_of(
              parameters.begin(), parameters.end(),
              [&](const NamedTensor& entry) { return entry.first == added; }) &&
          std::none_of(buffers.begin(), buffers.end(), same) &&
          std::none_of(children.begin(), children.end(), same))
        << "a module has two parts named \"" << added << '"';
  }

  static void Walk(
      Module& module, const std::string& path,
      const std::function<void(const std::string&, Module&)>& visit) {
    visit(path, module);
    for (Slot& child : module.impl_->children) {
      Walk(*child.module, JoinPath(path, child.name), visit);
    }
  }

  std::unique_ptr<Module>* Find(std::string_view name) {
    for (Slot& child : children) {
      if (child.name == name) return &child.module;
    }
    return nullptr;
  }

  // What a module itself holds, its children left out.
  static std::vector<NamedTensor> Parameters(const Module& module) {
    std::vector<NamedTensor> all = module.impl_->parameters;
    for (NamedTensor& own : module.OwnParameters()) {
      all.push_back(std::move(own));
    }
    return all;
  }
  static std::vector<NamedTensor> Buffers(const Module& module,
                                          bool persistent_only) {
    std::vector<NamedTensor> all;
    for (const Buffer& buffer : module.impl_->buffers) {
      if (persistent_only && !buffer.persistent) continue;
      all.emplace_back(buffer.name, buffer.tensor);
    }
    for (NamedTensor& own : module.OwnBuffers()) all.push_back(std::move(own));
    return all;
  }

  // Applies `convert` to every parameter and buffer in place, so that each
  // handle on a tensor sees the change.
  static void Convert(
      Module& root,
      const std::function<at::Tensor(const at::Tensor&)>& convert) {
    const c10::AutoGradMode no_grad(false);
    for (const auto& list : {root.NamedParameters(), root.NamedBuffers()}) {
      for (const auto& [name, tensor] : list) {
        tensor.mutable_grad() = at::Tensor();
        tensor.set_data(convert(tensor.detach()));
      }
    }
  }

  template <typename List>
  static std::vector<NamedTensor> Collect(const Module& root,
                                          const List& list) {
    std::vector<NamedTensor> all;
    // Walk() changes nothing by itself.
    Walk(const_cast<Module&>(root), "",
         [&](const std::string& path, Module& module) {
           for (NamedTensor& own : list(module)) {
             all.emplace_back(JoinPath(path, own.first), std::move(own.second));
           }
         });
    return all;
  }
};

at::Tensor Child::operator()(const at::Tensor& x) const {
  return (*slot_)->Run(x);
}
Value Child::operator()(const Value& x) const { return (*slot_)->Run(x); }
Module& Child::operator*() const { return **slot_; }
Module* Child::operator->() const { return slot_->get(); }

Module::Module() : impl_(std::make_unique<Impl>()) {}
Module::~Module() = default;

Value Module::Run(const Value& input) {
  try {
    if (!impl_->wrapper) return Forward(input);
    return impl_->wrapper([this](const Value& x) { return Forward(x); }, input);
  } catch (c10::Error& error) {
    // Innermost first, so that the message leads from the layer to the model.
    error.add_context(impl_->name.empty()
                          ? absl::StrCat("in ", kind())
                          : absl::StrCat("in ", impl_->name, " (", kind(),
                                         "), input ", input.ShapeString()));
    throw;
  }
}

at::Tensor Module::Run(const at::Tensor& input) {
  return Run(Value(input)).tensor();
}

void Module::set_forward_wrapper(ForwardWrapper wrapper) {
  impl_->wrapper = std::move(wrapper);
}

void Module::Train(bool on) {
  Impl::Walk(*this, "", [on](const std::string&, Module& module) {
    module.training_ = on;
    module.OnTrain(on);
  });
}

std::vector<std::pair<std::string, Module*>> Module::Children() const {
  std::vector<std::pair<std::string, Module*>> children;
  for (const Impl::Slot& child : impl_->children) {
    children.emplace_back(child.name, child.module.get());
  }
  return children;
}

std::vector<std::pair<std::string, Module*>> Module::NamedModules() {
  std::vector<std::pair<std::string, Module*>> modules;
  Impl::Walk(*this, "", [&](const std::string& path, Module& module) {
    modules.emplace_back(path, &module);
  });
  return modules;
}

std::vector<NamedTensor> Module::NamedParameters() const {
  std::vector<NamedTensor> all = Impl::Collect(*this, Impl::Parameters);
  std::set<const c10::TensorImpl*> seen;
  std::erase_if(all, [&](const NamedTensor& parameter) {
    return !seen.insert(parameter.second.unsafeGetTensorImpl()).second;
  });
  return all;
}

std::vector<NamedTensor> Module::NamedBuffers() const {
  return Impl::Collect(*this, [](const Module& module) {
    return Impl::Buffers(module, /*persistent_only=*/false);
  });
}

std::vector<NamedTensor> Module::StateDict() const {
  return Impl::Collect(*this, [](const Module& module) {
    std::vector<NamedTensor> all = Impl::Parameters(module);
    for (NamedTensor& buffer : Impl::Buffers(module, true)) {
      all.push_back(std::move(buffer));
    }
    return all;
  });
}

Module* Module::Find(std::string_view path) {
  if (path.empty()) return this;
  const auto [parent, name] = SplitLast(path);
  Module* holder = Find(parent);
  if (holder == nullptr) return nullptr;
  std::unique_ptr<Module>* found = holder->impl_->Find(name);
  return found == nullptr ? nullptr : found->get();
}

absl::StatusOr<std::unique_ptr<Module>> Module::Replace(
    std::string_view path, std::unique_ptr<Module> module) {
  if (path.empty() || module == nullptr) return NothingToReplace(path);
  const auto [parent, name] = SplitLast(path);
  Module* holder = Find(parent);
  std::unique_ptr<Module>* place =
      holder == nullptr ? nullptr : holder->impl_->Find(name);
  if (place == nullptr) return CannotFind(*this, path);
  module->impl_->name = name;
  module->Train(training_);
  std::swap(*place, module);
  return module;
}

void Module::To(at::Device device) {
  Impl::Convert(*this, [&](const at::Tensor& t) { return t.to(device); });
}

void Module::To(at::ScalarType dtype) {
  Impl::Convert(*this, [&](const at::Tensor& t) {
    return t.is_floating_point() ? t.to(dtype) : t;
  });
}

void Module::To(at::MemoryFormat format) {
  Impl::Convert(*this, [&](const at::Tensor& t) {
    return t.dim() == 4 && t.is_floating_point() ? t.contiguous(format) : t;
  });
}

std::vector<NamedTensor> Module::OwnParameters() const { return {}; }
std::vector<NamedTensor> Module::OwnBuffers() const { return {}; }

at::Tensor Module::AddParameter(std::string name, at::Tensor tensor) {
  impl_->CheckNew(name);
  if (!tensor.defined()) return tensor;
  tensor.set_requires_grad(true);
  impl_->parameters.emplace_back(std::move(name), tensor);
  return tensor;
}

at::Tensor Module::AddBuffer(std::string name, at::Tensor tensor,
                             bool persistent) {
  impl_->CheckNew(name);
  if (!tensor.defined()) return tensor;
  impl_->buffers.push_back({std::move(name), tensor, persistent});
  return tensor;
}

Child Module::Add(std::string name, std::unique_ptr<Module> module) {
  impl_->CheckNew(name);
  CHECK(module != nullptr) << "no module to add as \"" << name << '"';
  module->impl_->name = name;
  impl_->children.push_back({std::move(name), std::move(module)});
  return Child(&impl_->children.back().module);
}

const std::string& Module::head() const { return impl_->head; }

void Module::set_head(std::string child) {
  CHECK(Find(child) != nullptr) << "no child \"" << child << '"';
  impl_->head = std::move(child);
}

Value TensorModule::Forward(const Value& input) {
  return Value(ForwardTensor(input.tensor()));
}

}  // namespace slipway::nn
