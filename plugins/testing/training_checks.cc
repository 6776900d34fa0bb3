// The checks of what a plugin does to trainings.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "ATen/Parallel.h"
#include "ATen/autocast_mode.h"
#include "ATen/core/grad_mode.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "c10/core/DefaultDtype.h"
#include "plugins/testing/check.h"
#include "plugins/testing/forked.h"
#include "trainer/loop/state_hash.h"
#include "trainer/nn/generator_state.h"

namespace slipway::testing {
namespace {

using recipe::Node;

constexpr absl::Duration kLimit = absl::Minutes(2);

// Losses of a training without the plugin.
absl::StatusOr<std::string> LossesWithout(const Subject& subject) {
  HarnessOptions options;
  if (subject.recipe.is_map()) {
    options.recipe = subject.recipe;
    options.recipe.Erase("plugins");
  }
  auto harness = Trained(std::move(options));
  if (!harness.ok()) return harness.status();
  return Bits((*harness)->losses());
}

// What a process has set for all of its code, by name.
std::vector<std::pair<std::string, std::string>> Settings() {
  std::vector<std::pair<std::string, std::string>> settings = {
      {"the number of threads", absl::StrCat(at::get_num_threads())},
      {"the default type", std::string(c10::get_default_dtype().name())},
      {"gradients", absl::StrCat(at::GradMode::is_enabled())},
      {"autocast", absl::StrCat(at::autocast::is_autocast_enabled(at::kCPU))},
      {"the random generator", loop::HashTensor(nn::GeneratorState(at::kCPU))},
      {"the working directory", std::filesystem::current_path().string()}};
  for (const int signal : {SIGINT, SIGTERM, SIGSEGV, SIGABRT, SIGCHLD}) {
    struct sigaction action = {};
    sigaction(signal, nullptr, &action);
    settings.emplace_back(
        absl::StrCat("the handler of signal ", signal),
        absl::StrCat(reinterpret_cast<uintptr_t>(action.sa_handler)));
  }
  std::string variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    absl::StrAppend(&variables, *entry, "\n");
  }
  settings.emplace_back("environment variables", variables);
  return settings;
}

// A switch that the manifest has, as the configuration that turns it off; null
// if it has none.
Node SwitchedOff(const plan::Manifest& manifest) {
  for (const auto& [key, value] :
       {std::pair("disable", true), std::pair("disabled", true),
        std::pair("enabled", false), std::pair("enable", false)}) {
    const plan::ConfigField* const field = manifest.FindConfig(key);
    if (field == nullptr || field->type != plan::ConfigField::Type::kBool) {
      continue;
    }
    Node config = Node::Map();
    config.Set(key, Node::Bool(value));
    return config;
  }
  return Node();
}

absl::Status SwitchedOffIsNothing(const Subject& subject,
                                  const std::string& without) {
  const Node off = SwitchedOff(subject.manifest);
  if (off.is_null()) return absl::OkStatus();
  HarnessOptions options = Training(subject);
  options.config = off;
  auto harness = Trained(std::move(options));
  if (!harness.ok()) return harness.status();
  if (Bits((*harness)->losses()) == without) return absl::OkStatus();
  return Found(absl::StrCat("with ", off.ToDisplay(),
                            " the losses are others than without it"));
}

std::string Folder(const Subject& subject, const std::string& name) {
  const std::string path = subject.scratch + "/" + name;
  std::filesystem::create_directories(path);
  return path;
}

HarnessOptions TwoEpochs(const Subject& subject, const std::string& folder) {
  HarnessOptions options = Training(subject);
  options.epochs = 2;
  options.run_dir = Folder(subject, folder);
  return options;
}

// A training of two epochs that starts after `checkpoint`.
absl::StatusOr<std::unique_ptr<PluginHarness>> TrainedFrom(
    const Checkpoint& checkpoint, HarnessOptions options) {
  auto harness = PluginHarness::Create(std::move(options));
  if (!harness.ok()) return Found(std::string(harness.status().message()));
  absl::Status status = (*harness)->Resume(checkpoint);
  if (!status.ok()) return Found(std::string(status.message()));
  status = EndedWell((*harness)->Train());
  if (!status.ok()) return status;
  return harness;
}

// Two epochs with `optimizer` (empty: the recipe's) against two with a resume
// between them.
absl::Status ResumeChangesNothing(const Subject& subject,
                                  const std::string& optimizer) {
  Subject with = subject;
  if (!optimizer.empty()) {
    if (!with.recipe.is_map()) with.recipe = Node::Map();
    Node* hyperparams = with.recipe.Find("training_hyperparams");
    if (hyperparams == nullptr) {
      hyperparams = &with.recipe.Set("training_hyperparams", Node::Map());
    }
    hyperparams->Set("optimizer", Node::String(optimizer));
  }
  auto whole = Trained(TwoEpochs(with, "whole"));
  if (!whole.ok()) return whole.status();
  const std::string folder = Folder(subject, "whole");
  const auto middle = ReadCheckpoint(folder + "/ckpt_epoch_1.pth");
  const auto end = ReadCheckpoint(folder + "/ckpt_epoch_2.pth");
  if (!middle.ok()) return middle.status();
  if (!end.ok()) return end.status();
  auto rest = TrainedFrom(*middle, TwoEpochs(with, "rest"));
  if (!rest.ok()) return rest.status();
  const auto end_of_rest =
      ReadCheckpoint(Folder(subject, "rest") + "/ckpt_epoch_2.pth");
  if (!end_of_rest.ok()) return end_of_rest.status();
  std::vector<double> losses = (*whole)->losses();
  losses.erase(losses.begin(), losses.begin() + losses.size() / 2);
  std::vector<std::string> differences =
      loop::Differences(loop::HashState(*end), loop::HashState(*end_of_rest));
  if (Bits(losses) != Bits((*rest)->losses())) {
    differences.insert(differences.begin(), "losses");
  }
  if (differences.empty()) return absl::OkStatus();
  return Found(absl::StrCat(
      "resumed after its first epoch, a training of two differs in ",
      absl::StrJoin(differences, ", ")));
}

// Where the state that version `version` of the plugin's state has lies; empty
// if there is none.
std::string OldState(const Subject& subject, int version) {
  const std::string name = absl::StrCat("state_v", version, ".pth");
  for (const char* folder : {"/", "/testdata/"}) {
    const std::string path = subject.folder + folder + name;
    if (std::filesystem::exists(path)) return path;
  }
  return "";
}

absl::Status LoadOldState(const Subject& subject, int version,
                          Checkpoint checkpoint) {
  const std::string path = OldState(subject, version);
  if (path.empty()) {
    return Found(absl::StrCat("there is no state_v", version,
                              ".pth beside its manifest"));
  }
  const absl::StatusOr<Checkpoint> old = ReadCheckpoint(path);
  if (!old.ok()) return old.status();
  const std::string& id = subject.manifest.id;
  std::erase_if(checkpoint.plugins,
                [&](const auto& entry) { return entry.first == id; });
  for (const auto& entry : old->plugins) {
    if (entry.first != id || entry.second.version != version) continue;
    checkpoint.plugins.push_back(entry);
    return TrainedFrom(checkpoint,
                       TwoEpochs(subject, absl::StrCat("old", version)))
        .status();
  }
  return Found(absl::StrCat(path, " has no state of version ", version));
}

std::set<std::string> Entries(const std::string& folder) {
  std::set<std::string> entries;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(entry, error);
    entries.insert(target.empty() ? name : absl::StrCat(name, " ", target));
  }
  return entries;
}

std::set<std::string> Children() {
  std::set<std::string> children;
  for (const std::string& task : Entries("/proc/self/task")) {
    std::ifstream in("/proc/self/task/" + task + "/children");
    for (std::string child; in >> child;) children.insert(child);
  }
  return children;
}

// What a process holds besides memory.
struct Held {
  std::set<std::string> threads = Entries("/proc/self/task");
  std::set<std::string> files = Entries("/proc/self/fd");
  std::set<std::string> children = Children();
};

std::vector<std::string> New(const std::set<std::string>& before,
                             const std::set<std::string>& after) {
  std::vector<std::string> entries;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(entries));
  return entries;
}

// Files are counted: reading a folder takes a number of its own.
absl::Status NothingNew(const Held& before) {
  std::vector<std::string> findings;
  // What has just been told to end takes a moment.
  for (int i = 0; i < 20; ++i) {
    const Held now;
    findings.clear();
    if (!New(before.threads, now.threads).empty()) {
      findings.push_back(absl::StrCat(New(before.threads, now.threads).size(),
                                      " threads go on"));
    }
    if (now.files.size() > before.files.size()) {
      findings.push_back(absl::StrCat(
          "open files: ", absl::StrJoin(New(before.files, now.files), ", ")));
    }
    if (!New(before.children, now.children).empty()) {
      findings.push_back("processes go on");
    }
    if (findings.empty()) return absl::OkStatus();
    absl::SleepFor(absl::Milliseconds(100));
  }
  return Found(absl::StrJoin(findings, "\n"));
}

}  // namespace

absl::Status LoadsAlone(const Subject& subject) {
  return Trained(Training(subject)).status();
}

absl::Status DisturbsNobody(const Subject& subject) {
  const absl::StatusOr<std::string> before = LossesWithout(subject);
  if (!before.ok()) return before.status();
  const auto settings = Settings();
  {
    absl::StatusOr<RunningPlugin> running = Load(subject);
    if (!running.ok()) return running.status();
    running->plugin->Close();
  }
  std::vector<std::string> findings;
  const auto now = Settings();
  for (size_t i = 0; i < settings.size(); ++i) {
    if (settings[i] == now[i]) continue;
    findings.push_back(absl::StrCat("it changes ", settings[i].first));
  }
  const absl::StatusOr<std::string> after = LossesWithout(subject);
  if (!after.ok()) return after.status();
  if (*after != *before) {
    findings.push_back(
        "a training without it has other losses once it was loaded");
  }
  const absl::Status off = SwitchedOffIsNothing(subject, *before);
  if (!off.ok()) findings.push_back(std::string(off.message()));
  if (findings.empty()) return absl::OkStatus();
  return Found(absl::StrJoin(findings, "\n"));
}

absl::Status StateReturns(const Subject& subject) {
  return ResumeChangesNothing(subject, "");
}

absl::Status OptimizersReturn(const Subject& subject) {
  const auto found = subject.manifest.components.find("optimizers");
  if (found == subject.manifest.components.end()) {
    return NothingToCheck("it has no optimizer");
  }
  for (const std::string& optimizer : found->second) {
    NowAt(optimizer);
    const absl::Status status = ResumeChangesNothing(subject, optimizer);
    if (status.ok()) continue;
    return Found(absl::StrCat(optimizer, ": ", std::string(status.message())));
  }
  return absl::OkStatus();
}

absl::Status OldStateLoads(const Subject& subject) {
  const int now = subject.manifest.state ? subject.manifest.state->version : 0;
  if (now <= 1) return NothingToCheck("there is no older version of its state");
  auto whole = Trained(TwoEpochs(subject, "whole"));
  if (!whole.ok()) return whole.status();
  const auto middle =
      ReadCheckpoint(Folder(subject, "whole") + "/ckpt_epoch_1.pth");
  if (!middle.ok()) return middle.status();
  for (int version = 1; version < now; ++version) {
    const absl::Status status = LoadOldState(subject, version, *middle);
    if (status.ok()) continue;
    return Found(
        absl::StrCat("version ", version, ": ", std::string(status.message())));
  }
  return absl::OkStatus();
}

absl::Status RanksAgree(const Subject& subject) {
  const auto said = RunRanks(
      2,
      [&](dist::ProcessGroup& group) -> absl::StatusOr<std::string> {
        HarnessOptions options = Training(subject);
        options.group = &group;
        auto harness = Trained(std::move(options));
        if (!harness.ok()) return harness.status();
        return Digest((*harness)->model());
      },
      kLimit);
  if (!said.ok()) return Found(std::string(said.status().message()));
  if ((*said)[0] == (*said)[1]) return absl::OkStatus();
  return Found(
      absl::StrCat("after four steps of two ranks the model is\non rank 0:\n",
                   (*said)[0], "on rank 1:\n", (*said)[1]));
}

absl::Status ClosesOnce(const Subject& subject) {
  // Whatever a training itself leaves (threads of LibTorch's) is there then.
  const absl::StatusOr<std::string> without = LossesWithout(subject);
  if (!without.ok()) return without.status();
  {
    absl::StatusOr<RunningPlugin> first = Load(subject);
    if (!first.ok()) return first.status();
    first->plugin->Close();
  }
  const Held before;
  {
    absl::StatusOr<RunningPlugin> running = Load(subject);
    if (!running.ok()) return running.status();
    running->plugin->Close();
  }
  absl::Status status = NothingNew(before);
  if (!status.ok()) {
    return Found(absl::StrCat("closed without a training: ",
                              std::string(status.message())));
  }
  HarnessOptions options = Training(subject);
  options.run_dir = subject.scratch;
  {
    auto harness = Trained(std::move(options));
    if (!harness.ok()) return harness.status();
    if ((*harness)->calls(Hook::kClose) != 1) {
      return Found(absl::StrCat("Close is called ",
                                (*harness)->calls(Hook::kClose), " times"));
    }
  }
  status = NothingNew(before);
  if (status.ok()) return status;
  return Found(
      absl::StrCat("after a training: ", std::string(status.message())));
}

}  // namespace slipway::testing
