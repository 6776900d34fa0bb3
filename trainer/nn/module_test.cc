#include "trainer/nn/module.h"

#include "ATen/ops/full.h"
#include "ATen/ops/zeros.h"
#include "gtest/gtest.h"

namespace slipway::nn {
namespace {

// y = x * weight, and a count of its calls.
class Scale : public TensorModule {
 public:
  explicit Scale(double weight, int64_t size = 2)
      : weight_(AddParameter("weight", at::full({size}, weight))),
        calls_(AddBuffer("calls", at::zeros({}, at::kLong))) {
    AddParameter("bias", at::Tensor());
    AddBuffer("scratch", at::zeros({3}), /*persistent=*/false);
  }
  std::string kind() const override { return "Scale"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    calls_.add_(1);
    return x.mul(weight_);
  }

 private:
  at::Tensor weight_, calls_;
};

class Pair : public TensorModule {
 public:
  Pair(double first, double second)
      : second_(Add("second", std::make_unique<Scale>(second))),
        first_(Add("first", std::make_unique<Scale>(first))),
        shift_(AddParameter("shift", at::full({2}, 0.5))) {}
  std::string kind() const override { return "Pair"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return second_(first_(x)).add(shift_);
  }

 private:
  Child second_, first_;
  at::Tensor shift_;
};

// A tree of depth two: "pair.first", "pair.second".
class Tree : public TensorModule {
 public:
  Tree() : pair_(Add("pair", std::make_unique<Pair>(2, 3))) {}
  std::string kind() const override { return "Tree"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override { return pair_(x); }

 private:
  Child pair_;
};

// Stands for a wrapped module: parameters that are nobody's registration.
class Sealed : public TensorModule {
 public:
  Sealed() : inner_(at::full({2}, 5.0).set_requires_grad(true)) {}
  std::string kind() const override { return "Sealed"; }
  bool opaque() const override { return true; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return x.mul(inner_);
  }
  std::vector<NamedTensor> OwnParameters() const override {
    return {{"inner.weight", inner_}};
  }

 private:
  at::Tensor inner_;
};

double Output(Module& module) {
  return module.Run(at::full({2}, 1.0))[0].item<double>();
}

std::vector<std::string> Names(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

using Strings = std::vector<std::string>;

TEST(Module, NamesPartsInPythonsOrder) {
  Tree tree;
  EXPECT_EQ(Names(tree.NamedParameters()),
            (Strings{"pair.shift", "pair.second.weight", "pair.first.weight"}));
  EXPECT_EQ(Names(tree.StateDict()),
            (Strings{"pair.shift", "pair.second.weight", "pair.second.calls",
                     "pair.first.weight", "pair.first.calls"}));
  EXPECT_EQ(Names(tree.NamedBuffers()),
            (Strings{"pair.second.calls", "pair.second.scratch",
                     "pair.first.calls", "pair.first.scratch"}));
  Strings modules;
  for (const auto& [name, module] : tree.NamedModules()) {
    modules.push_back(name + ":" + module->kind());
  }
  EXPECT_EQ(modules, (Strings{":Tree", "pair:Pair", "pair.second:Scale",
                              "pair.first:Scale"}));
}

TEST(Module, CountsAndListsATiedParameterOnce) {
  class Tied : public Tree {
   public:
    Tied() { AddParameter("tied", Find("pair")->NamedParameters()[0].second); }
  } tied;
  EXPECT_EQ(CountParameters(tied), 6);
  EXPECT_EQ(tied.NamedParameters().size(), 3);
  EXPECT_EQ(tied.StateDict().size(), 6);
}

TEST(Module, FindsDescendantsByPath) {
  Tree tree;
  EXPECT_EQ(tree.Find(""), &tree);
  ASSERT_NE(tree.Find("pair.first"), nullptr);
  EXPECT_EQ(tree.Find("pair.first")->kind(), "Scale");
  for (const char* path : {"first", "pair.third", "pair.first.x", "pair.", "."})
    EXPECT_EQ(tree.Find(path), nullptr) << path;
}

TEST(Module, ComputesGradientsOfItsParameters) {
  Tree tree;
  tree.Run(at::full({2}, 1.0)).sum().backward();
  EXPECT_EQ(tree.StateDict()[1].second.grad()[0].item<double>(), 2);
  EXPECT_EQ(tree.StateDict()[3].second.grad()[0].item<double>(), 3);
}

TEST(Replace, ChangesOutputAndParameterList) {
  Tree tree;
  EXPECT_EQ(Output(tree), 2 * 3 + 0.5);
  auto old = tree.Replace("pair.first", std::make_unique<Pair>(10, 1));
  ASSERT_TRUE(old.ok()) << old.status();
  EXPECT_EQ((*old)->kind(), "Scale");
  EXPECT_EQ(Output(tree), 10.5 * 3 + 0.5);
  EXPECT_EQ(Names(tree.NamedParameters()),
            (Strings{"pair.shift", "pair.second.weight", "pair.first.shift",
                     "pair.first.second.weight", "pair.first.first.weight"}));
  tree.Run(at::full({2}, 1.0)).sum().backward();
  EXPECT_TRUE(tree.NamedParameters()[4].second.grad().defined());
  EXPECT_FALSE((*old)->NamedParameters()[0].second.grad().defined());
}

TEST(Replace, TakesOnTheModeOfTheModel) {
  Tree tree;
  tree.Train(false);
  ASSERT_TRUE(tree.Replace("pair.first", std::make_unique<Pair>(1, 1)).ok());
  EXPECT_FALSE(tree.Find("pair.first.second")->training());
}

TEST(Replace, LeavesTheModelAloneOnBadInput) {
  class Holder : public Tree {
   public:
    Holder() { Add("sealed", std::make_unique<Sealed>()); }
  } model;
  const struct {
    std::string path;
    bool null;
    absl::StatusCode code;
    std::string message;
  } cases[] = {
      {"", false, absl::StatusCode::kInvalidArgument,
       "cannot replace a whole model: name one of its modules"},
      {"pair", true, absl::StatusCode::kInvalidArgument,
       "cannot replace \"pair\": no module was given to put in its place"},
      {"pair.frist", false, absl::StatusCode::kNotFound,
       "no module \"pair.frist\" in Tree; did you mean \"pair.first\"?"},
      {"quite.else.where", false, absl::StatusCode::kNotFound,
       "no module \"quite.else.where\" in Tree: NamedModules() lists what "
       "there is"},
      {"sealed.inner", false, absl::StatusCode::kFailedPrecondition,
       "cannot replace \"sealed.inner\": \"sealed\" is a Sealed, whose parts "
       "are fixed; replace \"sealed\" as a whole"},
      {"sealed.a.b", false, absl::StatusCode::kFailedPrecondition,
       "cannot replace \"sealed.a.b\": \"sealed\" is a Sealed, whose parts "
       "are fixed; replace \"sealed\" as a whole"},
  };
  for (const auto& c : cases) {
    const auto result =
        model.Replace(c.path, c.null ? nullptr : std::make_unique<Scale>(100));
    EXPECT_EQ(result.status().code(), c.code) << c.path;
    EXPECT_EQ(std::string(result.status().message()), c.message);
    EXPECT_EQ(Output(model), 6.5);
  }
  EXPECT_TRUE(model.Replace("sealed", std::make_unique<Scale>(1)).ok());
}

TEST(Replace, NamesTheModelWhenItIsItselfOpaque) {
  Sealed sealed;
  EXPECT_EQ(
      sealed.Replace("inner", std::make_unique<Scale>(1)).status().message(),
      "cannot replace \"inner\": the model is a Sealed, whose parts are "
      "fixed; replace the model as a whole");
}

TEST(Module, ListsWhatAnOpaqueModuleOwns) {
  class Holder : public Tree {
   public:
    Holder() { Add("sealed", std::make_unique<Sealed>()); }
  } model;
  EXPECT_EQ(model.NamedParameters().back().first, "sealed.inner.weight");
}

TEST(ForwardWrapper, RunsInPlaceOfForwardUntilRemoved) {
  Tree tree;
  tree.Find("pair.first")
      ->set_forward_wrapper(
          [](const Module::ForwardFunction& next, const Value& x) {
            return Value(next(x).tensor().add(next(x).tensor()));
          });
  EXPECT_EQ(Output(tree), (2 + 2) * 3 + 0.5);
  EXPECT_EQ(tree.Find("pair.first")->NamedBuffers()[0].second.item<int>(), 2);
  tree.Find("pair.first")->set_forward_wrapper(nullptr);
  EXPECT_EQ(Output(tree), 6.5);
}

TEST(Train, SetsTheModeOfTheWholeSubtree) {
  Tree tree;
  EXPECT_TRUE(tree.Find("pair.first")->training());
  tree.Find("pair")->Train(false);
  EXPECT_TRUE(tree.training());
  EXPECT_FALSE(tree.Find("pair")->training());
  EXPECT_FALSE(tree.Find("pair.first")->training());
}

TEST(Train, CallsOnTrainOfEachModule) {
  class Watcher : public Tree {
   public:
    std::vector<bool> seen;

   protected:
    void OnTrain(bool on) override { seen.push_back(on); }
  } watcher;
  watcher.Train(false);
  watcher.Train();
  EXPECT_EQ(watcher.seen, (std::vector<bool>{false, true}));
}

TEST(To, ConvertsFloatingPointTensorsInPlace) {
  Tree tree;
  const at::Tensor handle = tree.NamedParameters()[0].second;
  tree.Run(at::full({2}, 1.0)).sum().backward();
  ASSERT_TRUE(handle.grad().defined());
  tree.To(at::kDouble);
  EXPECT_EQ(handle.scalar_type(), at::kDouble);
  EXPECT_TRUE(handle.requires_grad());
  EXPECT_FALSE(handle.grad().defined());
  EXPECT_EQ(tree.NamedBuffers()[0].second.scalar_type(), at::kLong);
  const at::Tensor out = tree.Run(at::full({2}, 1.0, at::kDouble));
  EXPECT_EQ(out.scalar_type(), at::kDouble);
  out.sum().backward();
  EXPECT_EQ(handle.grad().scalar_type(), at::kDouble);
}

TEST(To, KeepsTensorsThatAreOnTheDeviceAlready) {
  Tree tree;
  const at::Tensor handle = tree.NamedParameters()[0].second;
  const void* memory = handle.data_ptr();
  tree.To(at::Device(at::kCPU));
  EXPECT_EQ(handle.data_ptr(), memory);
  EXPECT_EQ(Output(tree), 6.5);
}

TEST(To, ChangesTheStridesOfFourDimensionalParameters) {
  class Kernel : public Tree {
   public:
    Kernel() { AddParameter("kernel", at::zeros({4, 3, 2, 2})); }
  } model;
  const at::Tensor kernel = model.NamedParameters()[0].second;
  model.To(at::MemoryFormat::ChannelsLast);
  EXPECT_EQ(kernel.strides(), at::IntArrayRef({12, 1, 6, 3}));
  model.To(at::MemoryFormat::Contiguous);
  EXPECT_EQ(kernel.strides(), at::IntArrayRef({12, 4, 2, 1}));
}

TEST(LoadStateDict, CopiesEveryTensor) {
  Tree from, to;
  for (const auto& [name, tensor] : from.StateDict()) {
    tensor.detach().fill_(9);
  }
  ASSERT_TRUE(LoadStateDict(to, from.StateDict(), true).ok());
  for (const auto& [name, tensor] : to.StateDict()) {
    EXPECT_TRUE(tensor.eq(9).all().item<bool>()) << name;
  }
  EXPECT_FALSE(to.StateDict()[0].second.is_same(from.StateDict()[0].second));
}

TEST(LoadStateDict, ListsAllMismatchesAtOnceAndChangesNothing) {
  Tree tree;
  const std::vector<NamedTensor> state = {
      {"pair.shift", at::full({2}, 9.0)},
      {"pair.first.weight", at::full({3, 1}, 9.0)},
      {"pair.first.calls", at::zeros({}, at::kLong)},
      {"module.pair.shift", at::zeros({2})},
      {"epoch", at::zeros({})}};
  const absl::Status status = LoadStateDict(tree, state, true);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "the state dict does not fit Tree\n"
            "  missing (2): pair.second.weight, pair.second.calls\n"
            "  unexpected (2): module.pair.shift, epoch\n"
            "  misshapen (1): pair.first.weight is [3, 1], expected [2]");
  EXPECT_EQ(Output(tree), 6.5);
}

TEST(LoadStateDict, TakesWhatFitsWhenNotStrict) {
  Tree tree;
  const std::vector<NamedTensor> state = {
      {"pair.shift", at::full({2}, 9.0)},
      {"pair.first.weight", at::full({3}, 9.0)},
      {"else", at::zeros({2})}};
  ASSERT_TRUE(LoadStateDict(tree, state, false).ok());
  EXPECT_EQ(Output(tree), 2 * 3 + 9);
}

TEST(Run, SaysWhereInTheModelAnErrorArose) {
  Tree tree;
  try {
    tree.Run(at::full({5}, 1.0));
    FAIL() << "expected an error";
  } catch (const c10::Error& error) {
    const std::string text = error.what();
    const size_t layer = text.find("in first (Scale), input float[5]");
    const size_t parent = text.find("in pair (Pair), input float[5]");
    EXPECT_NE(layer, std::string::npos) << text;
    EXPECT_LT(layer, parent) << text;
    EXPECT_NE(text.find("in Tree"), std::string::npos) << text;
  }
}

TEST(ModuleDeathTest, RefusesTwoPartsOfOneName) {
  class Twice : public Tree {
   public:
    Twice() { AddParameter("pair", at::zeros({1})); }
  };
  EXPECT_DEATH(Twice(), "two parts named \"pair\"");
  class Dotted : public Tree {
   public:
    Dotted() { AddParameter("a.b", at::zeros({1})); }
  };
  EXPECT_DEATH(Dotted(), "not a name for a part of a module: \"a.b\"");
}

}  // namespace
}  // namespace slipway::nn
