// Two nodes of a real Ray cluster, each in a network namespace of its own, with
// a pair of virtual Ethernet devices between them. What the second node's
// machine would lack is hidden from it by mounts.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/ray/own_cluster.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"
#include "tests/launcher/launch_program.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kHead[] = "slipway-head";
constexpr char kWorker[] = "slipway-worker";
constexpr char kAddress[] = "10.77.0.1:6400";

bool Shell(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

void Rest(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// Also before and between tests.
std::string NewFolder() {
  std::string folder = testing::TempDir() + "/netns.XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

std::string DriverPath() {
  return RunfilePath("launcher/ray_driver/ray_driver");
}

// A Ray node: `ray start --block` in a namespace, with `hide` before it.
class RayNode {
 public:
  RayNode(const std::string& space, const std::string& ip,
          const std::string& role, const std::string& hide = "true") {
    folder_ = "/tmp/slipway-netns-XXXXXX";
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    const std::string home(
        absl::StripSuffix(launcher::OutputOf({DriverPath(), "--home"}), "\n"));
    const std::string python = *launcher::FindPython();
    const std::string script = absl::StrCat(
        hide, " && exec ", python, " -m ray.scripts.scripts start --block ",
        role, " --node-ip-address=", ip,
        " --num-cpus=1 --min-worker-port=0 --max-worker-port=0"
        " --disable-usage-stats --object-store-memory=80000000 --temp-dir=",
        folder_, " --include-log-monitor=false");
    process_ = std::make_unique<Process>(
        "/usr/bin/env",
        std::vector<std::string>{"ip", "netns", "exec", space, "unshare", "-m",
                                 "sh", "-c", script},
        folder_,
        std::map<std::string, std::string>{
            {"PYTHONPATH", home},
            {"PATH", "/usr/local/bin:/usr/bin:/bin:/sbin"}});
  }

  // All of its processes have its folder in their command lines.
  ~RayNode() {
    for (int i = 0; i < 50 && Kill(folder_); ++i) Rest(50);
    process_.reset();
    std::error_code error;
    fs::remove_all(folder_, error);
  }

  // Kills those with `text` on their command line too; false without any.
  bool Kill(const std::string& text) const {
    bool any = false;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string line = ReadText(entry.path() / "cmdline");
      if (!absl::StrContains(line, folder_) || !absl::StrContains(line, text)) {
        continue;
      }
      any = true;
      kill(std::stoi(entry.path().filename()), SIGKILL);
    }
    return any;
  }

 private:
  std::string folder_;
  std::unique_ptr<Process> process_;
};

// A launch from the head's namespace.
struct Launching {
  std::string logs;
  std::unique_ptr<Process> process;

  Launched Wait() {
    const Outcome outcome = process->Wait();
    Launched launched = {outcome.exit_code, outcome.out, outcome.err, "", {}};
    std::ifstream report(logs + "/launch_report.json");
    if (report) launched.report = json::parse(report);
    return launched;
  }
};

Launching Start(const std::vector<std::string>& flags,
                const std::vector<std::string>& program,
                const std::string& launcher = LauncherPath()) {
  const std::string logs = NewFolder();
  std::vector<std::string> arguments = {
      "ip",
      "netns",
      "exec",
      kHead,
      launcher,
      "--backend=ray",
      absl::StrCat("--ray_address=", kAddress),
      "--num_processes=2",
      "--ray_strategy=strict_spread",
      "--grace=2s",
      "--log_dir=" + logs};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  arguments.push_back("--");
  arguments.insert(arguments.end(), program.begin(), program.end());
  return {logs, std::make_unique<Process>(
                    "/usr/bin/env", arguments, logs,
                    std::map<std::string, std::string>{
                        {"SLIPWAY_RAY_DRIVER", DriverPath()},
                        {"PATH", "/usr/local/bin:/usr/bin:/bin:/sbin"}})};
}

Launched RunScript(const std::vector<std::string>& flags,
                   const std::string& script) {
  return Start(flags, {"/bin/sh", "-c", script}).Wait();
}

std::unique_ptr<RayNode> StartHead() {
  return std::make_unique<RayNode>(
      kHead, "10.77.0.1", "--head --port=6400 --include-dashboard=false");
}

std::unique_ptr<RayNode> StartWorker(const std::string& hide = "true") {
  return std::make_unique<RayNode>(kWorker, "10.77.0.2",
                                   absl::StrCat("--address=", kAddress), hide);
}

// Until both nodes can be launched on.
bool BothAreReady() {
  for (int i = 0; i < 60; ++i) {
    if (RunScript({}, "true").exit_code == 0) return true;
    Rest(500);
  }
  return false;
}

// The number that a rank writes once it runs. A head learns after a quarter of
// a minute only that a node was killed, and may grant its place until then.
int NumberOfRank(const std::string& path) {
  for (int i = 0; i < 5; ++i) {
    if (const int number = NumberIn(path); number != 0) return number;
  }
  return 0;
}

class TwoNodes : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (geteuid() != 0) why_not = "needs root";
    if (std::thread::hardware_concurrency() < 2) why_not = "needs two cores";
    if (!why_not.empty()) return;
    RemoveNetwork();
    if (!MakeNetwork()) {
      why_not = "cannot make network namespaces here (ip netns, veth)";
      return;
    }
    head = StartHead();
    worker = StartWorker();
    ASSERT_TRUE(BothAreReady());
  }
  static void TearDownTestSuite() {
    worker.reset();
    head.reset();
    if (why_not.empty()) RemoveNetwork();
  }
  void SetUp() override {
    if (!why_not.empty()) GTEST_SKIP() << why_not;
  }

  static bool MakeNetwork() {
    return Shell(absl::StrCat(
        "PATH=$PATH:/sbin; ip netns add ", kHead, " && ip netns add ", kWorker,
        " && ip link add slipway0 netns ", kHead,
        " type veth peer name slipway1 netns ", kWorker, " && ip -n ", kHead,
        " addr add 10.77.0.1/24 dev slipway0 && ip -n ", kWorker,
        " addr add 10.77.0.2/24 dev slipway1 && ip -n ", kHead,
        " link set slipway0 up && ip -n ", kWorker,
        " link set slipway1 up && ip -n ", kHead, " link set lo up && ip -n ",
        kWorker, " link set lo up"));
  }
  static void RemoveNetwork() {
    for (const char* space : {kHead, kWorker}) {
      Shell(absl::StrCat("PATH=$PATH:/sbin; ip netns del ", space));
    }
  }

  static inline std::string why_not;              // NOLINT
  static inline std::unique_ptr<RayNode> head;    // NOLINT
  static inline std::unique_ptr<RayNode> worker;  // NOLINT
};

TEST_F(TwoNodes, HaveARankEachThatMeetAtRankZeros) {
  const Launched run = RunScript({},
                                 "echo $RANK $MASTER_ADDR $(ip -o -4 addr | "
                                 "grep -o '10.77.0.[12]/')");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("[0] 0 10.77.0.1 10.77.0.1/\n"),
                             HasSubstr("[1] 1 10.77.0.1 10.77.0.2/\n")));
  // The namespaces are on one machine, whose cores they share.
  EXPECT_EQ(run.report["plan"]["nodes"].size(), 2u);
  const json& ranks = run.report["attempts"][0]["ranks"];
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(ranks[rank]["cpus_bound"],
              run.report["plan"]["ranks"][rank]["cpus"]);
  }
  EXPECT_NE(ranks[0]["cpus_bound"], ranks[1]["cpus_bound"]);
}

TEST_F(TwoNodes, ReachEachOtherAtTheRendezvous) {
  const Launched run = RunScript(
      {},
      "if [ $RANK = 0 ]; then "
      "timeout 20 python3 -c \"import os, socket; s = socket.socket(); "
      "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); "
      "s.bind((os.environ['MASTER_ADDR'], "
      "int(os.environ['MASTER_PORT']))); s.listen(); "
      "print('met', s.accept()[1][0])\"; else "
      "timeout 20 python3 -c \"import os, socket, time\n"
      "while True:\n"
      "  try:\n"
      "    socket.create_connection((os.environ['MASTER_ADDR'], "
      "int(os.environ['MASTER_PORT'])))\n"
      "    break\n"
      "  except OSError: time.sleep(0.1)\"; fi");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("met 10.77.0.2"));
}

// With what the ranks learn on one machine, which is said by the losses.
std::vector<double> Losses(const std::string& run_dir) {
  std::vector<double> losses;
  std::ifstream file(run_dir + "/metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    const json entry = json::parse(line);
    if (entry.value("kind", "") == "step") losses.push_back(entry["loss"]);
  }
  return losses;
}

std::vector<std::string> Recipe(const std::string& run_dir) {
  return {"--recipe=digits_resnet", "--run_dir=" + run_dir, "epochs=1",
          "training_hyperparams.max_train_batches=4",
          "training_hyperparams.log_every=1"};
}

TEST_F(TwoNodes, TrainWithTheSameLossesAsOneMachine) {
  const std::string program = RunfilePath("launcher/launcher");
  const std::string folder = NewFolder();
  std::vector<std::string> alone = {"--num_processes=2",
                                    "--log_dir=" + folder + "/logs", "--"};
  for (const std::string& word : Recipe(folder + "/alone")) {
    alone.push_back(word);
  }
  const Outcome one = Process(program, alone, folder).Wait();
  ASSERT_EQ(one.exit_code, 0) << one.err;
  const Launched two = Start({}, Recipe(folder + "/apart"), program).Wait();
  ASSERT_EQ(two.exit_code, 0) << two.err;
  const std::vector<double> wanted = Losses(folder + "/alone");
  const std::vector<double> got = Losses(folder + "/apart");
  ASSERT_EQ(wanted.size(), 4u);
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], wanted[i], 1e-5) << i;
  }
}

TEST_F(TwoNodes, ReportARankThatIsKilled) {
  const Launched run = RunScript({}, "[ $RANK = 1 ] && kill -9 $$; sleep 600");
  EXPECT_EQ(run.exit_code, 137);
  EXPECT_EQ(run.report["first_failure"]["rank"], 1);
  EXPECT_EQ(run.report["first_failure"]["signal"], "SIGKILL");
  EXPECT_LT(run.report["attempts"][0]["seconds"], 5);
}

// The worker's machine has neither the launcher nor the program.
TEST_F(TwoNodes, GetWhatTheyLack) {
  worker.reset();
  const std::string launcher_folder =
      fs::canonical(LauncherPath()).parent_path().string();
  const std::string program_folder = NewFolder();
  const std::string program = program_folder + "/program.sh";
  std::ofstream(program) << "#!/bin/sh\necho rank $RANK runs $0 with $1:\n"
                            "cat $1\n";
  fs::permissions(program, fs::perms::owner_all);
  std::ofstream(program_folder + "/data") << "some data\n";
  worker =
      StartWorker(absl::StrCat("mount -t tmpfs none ", launcher_folder,
                               " && mount -t tmpfs none ", program_folder));
  ASSERT_TRUE(BothAreReady());
  const Launched run = Start({}, {program, program_folder + "/data"}).Wait();
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out,
              AllOf(HasSubstr(absl::StrCat("[0] rank 0 runs ", program)),
                    HasSubstr("[1] rank 1 runs /tmp/slipway-agent-"),
                    HasSubstr("some data")));
  for (const auto& entry : fs::directory_iterator("/tmp")) {
    EXPECT_FALSE(absl::StrContains(entry.path().string(), "/slipway-agent"))
        << entry.path();
  }
}

// Trainer, plugins and recipes travel; LibTorch is there.
TEST_F(TwoNodes, TrainWhereTheTrainerIsNot) {
  worker.reset();
  const std::string program = RunfilePath("launcher/launcher");
  const std::string built =
      fs::canonical(program).parent_path().parent_path().string();
  worker = StartWorker("mount -t tmpfs none " + built);
  ASSERT_TRUE(BothAreReady());
  const std::string run_dir = NewFolder() + "/run";
  const Launched run = Start({}, Recipe(run_dir), program).Wait();
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(Losses(run_dir).size(), 4u);
}

TEST_F(TwoNodes, AreRefusedWhereTheyLackRaysCppHalf) {
  worker.reset();
  const std::string home(
      absl::StripSuffix(launcher::OutputOf({DriverPath(), "--home"}), "\n"));
  worker = StartWorker("mount -t tmpfs none " + home + "/ray/cpp");
  Launched run;
  for (int i = 0; i < 60; ++i) {
    run = RunScript({}, "true");
    if (absl::StrContains(run.err, "ray-cpp")) break;
    Rest(500);
  }
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("node 10.77.0.2: no ray-cpp"),
                             HasSubstr("install ray-cpp==")));
  // It lives on.
  EXPECT_THAT(RunScript({}, "true").err,
              HasSubstr("node 10.77.0.2: no ray-cpp"));
  worker.reset();
  worker = StartWorker();
  ASSERT_TRUE(BothAreReady());
}

TEST_F(TwoNodes, ReportANodeThatIsLost) {
  const std::string ready = NewFolder() + "/ready";
  Launching launch = Start(
      {}, {"/bin/sh", "-c",
           absl::StrCat("[ $RANK = 1 ] && echo $$ > ", ready, "; sleep 600")});
  const pid_t rank = NumberOfRank(ready);
  ASSERT_GT(rank, 0);
  EXPECT_TRUE(worker->Kill("raylet/raylet"));
  const Launched run = launch.Wait();
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.report["first_failure"]["reason"], "node_lost");
  EXPECT_EQ(run.report["first_failure"]["rank"], 1);
  EXPECT_THAT(run.report["first_failure"]["message"].get<std::string>(),
              HasSubstr("10.77.0.2"));
  EXPECT_TRUE(Dies(rank));
  worker.reset();
}

TEST_F(TwoNodes, StartAgainWithoutANodeThatIsLost) {
  worker.reset();
  worker = StartWorker();
  ASSERT_TRUE(BothAreReady());
  const std::string ready = NewFolder() + "/ready";
  Launching launch = Start(
      {"--max_restarts=1", "--ray_strategy=spread", "--ray_resources=CPU=0.5"},
      {"/bin/sh", "-c",
       absl::StrCat("[ $SLIPWAY_RESTART = 1 ] && exit 0; "
                    "[ $RANK = 1 ] && echo 1 > ",
                    ready, "; sleep 600")});
  ASSERT_EQ(NumberOfRank(ready), 1);
  EXPECT_TRUE(worker->Kill("raylet/raylet"));
  const Launched run = launch.Wait();
  EXPECT_EQ(run.exit_code, 0) << run.err;
  ASSERT_EQ(run.report["attempts"].size(), 2u);
  EXPECT_EQ(run.report["attempts"][1]["ranks"].size(), 2u);
}

TEST_F(TwoNodes, ReportAHeadThatIsLost) {
  worker.reset();
  worker = StartWorker();
  ASSERT_TRUE(BothAreReady());
  const std::string ready = NewFolder() + "/ready";
  Launching launch = Start(
      {}, {"/bin/sh", "-c",
           absl::StrCat("[ $RANK = 1 ] && echo $$ > ", ready, "; sleep 600")});
  const pid_t rank = NumberOfRank(ready);
  ASSERT_GT(rank, 0);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(head->Kill("gcs_server"));
  const Launched run = launch.Wait();
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.report["first_failure"]["reason"], "node_lost");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_TRUE(Dies(rank));
}

}  // namespace
}  // namespace slipway
