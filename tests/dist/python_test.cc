// Either launcher starts either trainer: torchrun ours, our launcher Python's
// DistributedDataParallel.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"
#include "tests/e2e/runs.h"

namespace slipway {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A program in Python, with the real PyTorch.
std::vector<std::string> Python(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {
      "/usr/bin/env", "-C", RunfilePath(""), "python3",
      RunfilePath("third_party/pytorch/with_pytorch.py")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

constexpr char kTorchrun[] = R"(
import os, sys
sys.setdlopenflags(os.RTLD_LAZY)
from torch.distributed.run import main
main(sys.argv[1:])
)";

TEST(Torchrun, StartsOurTrainer) {
  const std::string folder = EmptyFolder();
  // The trainer's own libraries are not Python's stand-ins.
  std::vector<std::string> command = Python(
      {"-c", kTorchrun, "--no-python", "--nproc-per-node=2", "/usr/bin/env",
       "-u", "LD_LIBRARY_PATH", TrainerPath(), "--recipe=digits_resnet",
       "--run_dir=" + folder + "/run", "epochs=1", "batch_size=32",
       "training_hyperparams.max_train_batches=4"});
  const std::string program = command.front();
  command.erase(command.begin());
  const Outcome run = Process(program, command, folder).Wait();
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json result = ResultOf(folder + "/run");
  EXPECT_EQ(result["world_size"], 2);
  EXPECT_EQ(result["samples"], 4 * 64);
}

TEST(Launcher, StartsPythonsDistributedDataParallel) {
  const std::string folder = EmptyFolder();
  // PyTorch is fetched once, not by each rank.
  const std::vector<std::string> warm_up = Python({"-c", "pass"});
  ASSERT_EQ(
      Process(warm_up.front(), {warm_up.begin() + 1, warm_up.end()}, folder)
          .Wait()
          .exit_code,
      0);
  std::vector<std::string> arguments = {"--num_processes=2",
                                        "--log_dir=" + folder + "/logs", "--"};
  for (const std::string& part : Python({RunfilePath("tests/dist/ddp.py")})) {
    arguments.push_back(part);
  }
  const Outcome run =
      Process(RunfilePath("launcher/launcher"), arguments, folder).Wait();
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("rank 0 equal True"),
                             HasSubstr("rank 1 equal True")));
}

}  // namespace
}  // namespace slipway
