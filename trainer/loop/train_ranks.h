// Trainings of several ranks, each a real process, for tests of what they do
// together.
//
//   Setting setting;
//   setting.hooks = [](int rank, Probe& probe, Trainer*&) { ... };
//   const auto said = TrainRanks(2, setting, [](const Trained& trained) {
//     return trained.End();
//   });
//   EXPECT_THAT(said, Each("done 0 after 6 steps"));
//
// What is to be compared travels as text from the ranks to the test.
#ifndef SLIPWAY_TRAINER_LOOP_TRAIN_RANKS_H_
#define SLIPWAY_TRAINER_LOOP_TRAIN_RANKS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tests/dist/ranks.h"
#include "trainer/loop/fixtures.h"

namespace slipway::loop {

using Extra = std::vector<std::pair<std::string, recipe::Node>>;
using Fault = std::function<absl::Status(int64_t index, data::Sample& sample)>;

// A training that ranks do together, and what a test changes of it. Functions
// get the rank.
struct Setting {
  int64_t samples = 48;
  int64_t valid_samples = 0;
  int64_t batch = 4;  // of a rank
  int64_t epochs = 1;
  int num_workers = 0;
  bool shuffle = true;
  Extra hyperparams = {};
  std::string folder = {};  // of files; empty: none
  bool resumes = false;     // from the latest checkpoint in `folder`
  std::function<std::unique_ptr<nn::Module>()> model = LinearNet;
  std::function<void(int rank, Trainer& trainer)> before = nullptr;
  std::function<void(int rank, Probe& probe, Trainer*& trainer)> hooks =
      nullptr;
  std::function<Fault(int rank)> fault = nullptr;
  std::function<Fault(int rank)> valid_fault = nullptr;
};

// What a rank has come to.
struct Trained {
  RunResult result;
  Heard heard;
  std::vector<std::string> calls;  // of hooks
  std::unique_ptr<Trainer> trainer;

  std::string Weights() const;
  std::string Losses() const;  // of steps
  // Names and values of a split's epochs.
  std::string Values(const std::string& split) const;
  // "done 0 after 6 steps".
  std::string End() const;
};

using Tell = std::function<std::string(const Trained& trained)>;

// What each of `world_size` ranks has to tell after the training.
std::vector<Ended> RunTraining(int world_size, const Setting& setting,
                               const Tell& tell);
// The same; fails the test if a rank does not come to its end.
std::vector<std::string> TrainRanks(int world_size, const Setting& setting,
                                    const Tell& tell);

std::string End(const Trained& trained);

// A folder of the test's own.
std::string EmptyRunFolder(const std::string& name = "run");

// Fails unless the numbers in both texts, whose words do not count, are within
// 2e-5.
void ExpectNear(const std::string& text, const std::string& other);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_TRAIN_RANKS_H_
