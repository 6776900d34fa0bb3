#include "trainer/loop/hyperparams.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::loop {
namespace {

using recipe::Node;
using testing::HasSubstr;

Node Recipe(std::vector<std::pair<std::string, Node>> values) {
  Node section = Node::Map({"x.yaml", 1, 1});
  int line = 1;
  for (auto& [key, value] : values) {
    value.set_mark({"x.yaml", ++line, 3});
    section.Set(key, std::move(value));
  }
  Node recipe = Node::Map();
  recipe.Set("training_hyperparams", std::move(section));
  return recipe;
}

TEST(Hyperparams, HaveSuperGradientsDefaults) {
  Problems problems;
  const Hyperparams h =
      ReadHyperparams(Recipe({{"max_epochs", Node::Int(3)}}), problems);
  EXPECT_TRUE(problems.empty()) << FormatProblems(problems);
  EXPECT_EQ(h.max_epochs, 3);
  EXPECT_EQ(h.batch_accumulate, 1);
  EXPECT_EQ(h.accumulate, Accumulate::kMean);
  EXPECT_EQ(h.non_finite, NonFinite::kStop);
  EXPECT_FALSE(h.clip_grad_norm.has_value());
  EXPECT_FALSE(h.max_train_batches.has_value());
  EXPECT_EQ(h.metric_to_watch, "");
  EXPECT_TRUE(h.greater_metric_to_watch_is_better);
  EXPECT_EQ(h.seed, 42u);
  EXPECT_EQ(h.log_every, 10);
  EXPECT_FALSE(h.loss_spike.has_value());
  EXPECT_FALSE(h.state_hash_every.has_value());
}

TEST(Hyperparams, ReadWhatIsSet) {
  Problems problems;
  const Hyperparams h = ReadHyperparams(
      Recipe({{"max_epochs", Node::Int(3)},
              {"accumulate", Node::String("sum")},
              {"non_finite", Node::String("skip")},
              {"compat", Node::String("supergradients")},
              {"clip_grad_norm", Node::Float(1.5)},
              {"max_train_batches", Node::Int(7)},
              {"save_ckpt_epoch_list", Node::List({Node::Int(2)})}}),
      problems);
  EXPECT_TRUE(problems.empty()) << FormatProblems(problems);
  EXPECT_EQ(h.accumulate, Accumulate::kSum);
  EXPECT_EQ(h.non_finite, NonFinite::kSkip);
  EXPECT_TRUE(h.supergradients_compat);
  EXPECT_EQ(h.clip_grad_norm, 1.5);
  EXPECT_EQ(h.max_train_batches, 7);
  EXPECT_TRUE(h.SavesEpoch(1));
  EXPECT_FALSE(h.SavesEpoch(2));
}

TEST(Hyperparams, SumGradientsUnderCompatUnlessTold) {
  Problems problems;
  const Node epochs = Node::Int(1), compat = Node::String("supergradients");
  EXPECT_EQ(ReadHyperparams(
                Recipe({{"max_epochs", epochs}, {"compat", compat}}), problems)
                .accumulate,
            Accumulate::kSum);
  EXPECT_EQ(ReadHyperparams(Recipe({{"max_epochs", epochs},
                                    {"compat", compat},
                                    {"accumulate", Node::String("mean")}}),
                            problems)
                .accumulate,
            Accumulate::kMean);
}

TEST(Hyperparams, ReadWhatIsALossSpike) {
  Problems problems;
  Node some = Node::Map(), all = Node::Map(), wrong = Node::Map();
  some.Set("window", Node::Int(7));
  all.Set("window", Node::Int(9));
  all.Set("deviations", Node::Float(4.5));
  wrong.Set("windows", Node::Int(9));
  const auto read = [&problems](Node spike) {
    return *ReadHyperparams(Recipe({{"max_epochs", Node::Int(1)},
                                    {"loss_spike", std::move(spike)}}),
                            problems)
                .loss_spike;
  };
  EXPECT_EQ(read(some).window, 7);
  EXPECT_EQ(read(some).deviations, 10);
  EXPECT_EQ(read(all).window, 9);
  EXPECT_EQ(read(all).deviations, 4.5);
  EXPECT_TRUE(problems.empty()) << FormatProblems(problems);
  read(wrong);
  EXPECT_THAT(FormatProblems(problems), HasSubstr("did you mean \"window\"?"));
}

TEST(Hyperparams, TakeNullAsAbsent) {
  Problems problems;
  const Hyperparams h = ReadHyperparams(
      Recipe({{"max_epochs", Node::Int(1)}, {"max_train_batches", Node()}}),
      problems);
  EXPECT_TRUE(problems.empty()) << FormatProblems(problems);
  EXPECT_FALSE(h.max_train_batches.has_value());
}

TEST(Hyperparams, TakeAClipNormOfZeroAsNone) {
  Problems problems;
  const Hyperparams h = ReadHyperparams(
      Recipe({{"max_epochs", Node::Int(1)}, {"clip_grad_norm", Node::Int(0)}}),
      problems);
  EXPECT_FALSE(h.clip_grad_norm.has_value());
}

TEST(Hyperparams, ReportEveryMistakeAtOnce) {
  Problems problems;
  ReadHyperparams(Recipe({{"batch_accumulate", Node::Int(0)},
                          {"accumulate", Node::String("median")},
                          {"non_finite", Node::String("redo")},
                          {"clip_grad_norm", Node::Int(-1)}}),
                  problems);
  const std::string text = FormatProblems(problems);
  EXPECT_THAT(text, HasSubstr("max_epochs"));
  EXPECT_THAT(text, HasSubstr("batch_accumulate"));
  EXPECT_THAT(text, HasSubstr("median"));
  EXPECT_THAT(text, HasSubstr("redo"));
  EXPECT_THAT(text, HasSubstr("clip_grad_norm"));
  EXPECT_THAT(text, HasSubstr("x.yaml:4"));
  EXPECT_EQ(problems.size(), 5u) << text;
}

TEST(Hyperparams, MissARecipeWithoutTheSection) {
  Problems problems;
  ReadHyperparams(Node::Map(), problems);
  EXPECT_THAT(FormatProblems(problems), HasSubstr("max_epochs"));
}

struct ValidationCase {
  int64_t frequency;
  std::vector<int64_t> saved;
  std::vector<int64_t> expected;  // epochs from 0
};

TEST(Hyperparams, ValidateByFrequencyAtTheEndAndBeforeListedCheckpoints) {
  const ValidationCase cases[] = {
      {1, {}, {0, 1, 2, 3, 4, 5, 6}},
      {3, {}, {2, 5, 6}},
      {3, {2}, {1, 2, 5, 6}},
      {100, {}, {6}},
  };
  for (const ValidationCase& c : cases) {
    Hyperparams h;
    h.max_epochs = 7;
    h.run_validation_freq = c.frequency;
    h.save_ckpt_epoch_list = c.saved;
    std::vector<int64_t> validated;
    for (int64_t epoch = 0; epoch < 7; ++epoch) {
      if (h.ValidatesAfter(epoch)) validated.push_back(epoch);
    }
    EXPECT_EQ(validated, c.expected) << "frequency " << c.frequency;
  }
}

}  // namespace
}  // namespace slipway::loop
