#include "launcher/flags.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "trainer/flag_set.h"

namespace slipway::launcher {
namespace {

constexpr char kUsage[] =
    R"help(Starts the ranks of a training, each on cores of its own, and watches over them.

  launcher [run] FLAGS -- [PROGRAM] ARGUMENTS
  launcher plan FLAGS [--calibrate] [-- ARGUMENTS]    shows what run would do
  launcher topo [--topology=...]                      shows the machine
  launcher env [--allocator=...]                      lines for a shell's eval

What follows `--` is the trainer's command line if it begins with a flag or an
override (a.b=c), else a program, by its path or by its name on PATH:

  bazel run //launcher -- --num_processes=4 -- --recipe=digits_resnet epochs=3
  bazel run //launcher -- --num_processes=2 -- python3 train.py
  bazel run //launcher -- --backend=ray --ray_address=10.0.0.1:6379 \
      --num_processes=8 -- --recipe=digits_resnet
  bazel run //launcher -- plan --num_processes=auto -- --recipe=digits_resnet
  bazel run //launcher -- plan --topology="pack:2 [numa] core:28 pu:2" \
      --num_processes=4
  eval "$(launcher env --allocator=jemalloc)"

MASTER_PORT in the environment fixes the rendezvous port; without it each launch
gets a free one.

)help";

// Flags as they are written.
struct RawFlags {
  std::string num_processes;
  std::string cpu_for_each_process;
  std::string policy = "spread";
  std::string smt = "skip";
  std::string remainder = "give";
  std::string reserve_cores = "0";
  std::string bind = "strict";
  std::string allocator = "tuned";
  std::string backend = "subprocess";
  std::string ray_resources = "CPU=1";
  std::string grace = "10s";
  std::string max_restarts = "0";
  std::string heartbeat_timeout = "0s";
  std::string log_ranks = "all";
  std::string format = "text";
};

void AddPlacementFlags(FlagSet& table, LaunchFlags& flags, RawFlags& raw) {
  table.Text("num_processes", "N|auto|recipe",
             "ranks; auto: as the machine suggests, recipe: its num_gpus "
             "(default: 1, or one a list below)",
             &raw.num_processes);
  table.Text("cpu_for_each_process", "LISTS",
             "CPUs of each rank: \"[[0,1],[2,3]]\" or \"0-1;2-3\"",
             &raw.cpu_for_each_process);
  table.Text("policy", "POLICY",
             "spread: a share of each package (default); pack: the first "
             "packages; numa: a node each; l3: whole caches; exclusive: "
             "spread, with all hardware threads",
             &raw.policy, {"spread", "pack", "numa", "l3", "exclusive"});
  table.Text("smt", "skip|keep|pair",
             "further hardware threads of a core: unused (default), a thread "
             "on each, or in the mask without a thread",
             &raw.smt, {"skip", "keep", "pair"});
  table.Text("remainder", "give|drop|error",
             "cores that do not divide evenly: one more for some ranks "
             "(default), unused, or refused",
             &raw.remainder, {"give", "drop", "error"});
  table.Text("reserve_cores", "N", "first cores left to the system (default 0)",
             &raw.reserve_cores);
  table.Switch("allow_straddle", "ranks may span packages if they gain by it",
               &flags.placement.allow_straddle);
  table.Text("topology", "TEXT|FILE.xml",
             "plan for another machine: hwloc's synthetic text, or lstopo's "
             "XML",
             &flags.topology);
}

void AddRankFlags(FlagSet& table, LaunchFlags& flags, RawFlags& raw) {
  table.Text("bind", "strict|best_effort|none",
             "a binding that fails ends the launch (default), warns, or is "
             "not tried",
             &raw.bind, {"strict", "best_effort", "none"});
  table.Text("allocator", "NAME",
             "tuned: glibc's, keeping large blocks (default); glibc as it is; "
             "jemalloc or tcmalloc, preloaded",
             &raw.allocator, {"tuned", "glibc", "jemalloc", "tcmalloc"});
  table.Switch("auto_lr",
               "lr_warmup raises the learning rate with the ranks (default "
               "on; a recipe that asks for several processes is left alone)",
               &flags.auto_lr);
  table.Text("backend", "subprocess|ray",
             "where the ranks run: this machine (default), or a Ray cluster",
             &raw.backend, {"subprocess", "ray"});
  table.Text("master_addr", "HOST",
             "this machine's address for the rendezvous (default 127.0.0.1)",
             &flags.master_addr);
}

void AddRayFlags(FlagSet& table, LaunchFlags& flags, RawFlags& raw) {
  table.Text("ray_address", "HOST:PORT",
             "the cluster's head (default: a cluster on this machine, for the "
             "time of the launch)",
             &flags.ray_address);
  table.Text("ray_strategy", "STRATEGY",
             "pack: few nodes (default); spread: many; strict_pack: one; "
             "strict_spread: a node for each rank",
             &flags.ray_strategy,
             {"pack", "spread", "strict_pack", "strict_spread"});
  table.Text("ray_resources", "NAME=N,...",
             "what each rank asks of the cluster (default CPU=1)",
             &raw.ray_resources);
  table.Switch("no_ship",
               "program, recipes and plugins are on every node already, at "
               "the same paths",
               &flags.no_ship);
}

void AddSupervisionFlags(FlagSet& table, LaunchFlags& flags, RawFlags& raw) {
  table.Text("grace", "TIME",
             "between SIGTERM and SIGKILL, whatever the reason (default 10s)",
             &raw.grace);
  table.Text("max_restarts", "N",
             "start all ranks again after a failure, so many times (default "
             "0); the trainer resumes from its latest checkpoint",
             &raw.max_restarts);
  table.Text("heartbeat_timeout", "TIME",
             "end a rank that has stopped making steps (default 0s: never)",
             &raw.heartbeat_timeout);
  table.Text("log_dir", "DIR",
             "launch_report.json and rank<N>.out, rank<N>.err (default: a new "
             "folder in ~/.cache/slipway/launches)",
             &flags.log_dir);
  table.Switch("tee", "show the ranks' output here too (default on)",
               &flags.tee);
  table.Text("log_ranks", "all|LIST", "the ranks to show here, such as 0,4-7",
             &raw.log_ranks);
  table.Text("prefix", "TEXT",
             "of each line; {rank} and {host} are filled in (default \"[{rank}]"
             " \")",
             &flags.prefix);
}

FlagSet Table(LaunchFlags& flags, RawFlags& raw) {
  FlagSet table;
  table.Switch("help", "this text", &flags.help);
  AddPlacementFlags(table, flags, raw);
  AddRankFlags(table, flags, raw);
  AddRayFlags(table, flags, raw);
  AddSupervisionFlags(table, flags, raw);
  table.Text("format", "text|json", "of plan, topo and env", &raw.format,
             {"text", "json"});
  table.Switch("calibrate",
               "plan only: train ten steps for each sensible number of ranks "
               "and threads, and pick",
               &flags.calibrate);
  return table;
}

// The position of `text` in a flag's choices is that of the enumerator: the
// table has refused all others.
template <typename E>
E Choice(const std::string& text, std::initializer_list<const char*> choices) {
  const auto it = std::find(choices.begin(), choices.end(), text);
  return it == choices.end() ? E() : static_cast<E>(it - choices.begin());
}

class Reader {
 public:
  explicit Reader(Problems& problems) : problems_(problems) {}

  void Fail(std::string message, std::string hint) {
    problems_.push_back({.kind = "value",
                         .message = std::move(message),
                         .where = {{.file = "command line"}},
                         .hint = std::move(hint)});
  }

  int Count(const char* flag, const std::string& text, int min) {
    int value = 0;
    if (absl::SimpleAtoi(text, &value) && value >= min) return value;
    Fail(absl::StrCat("--", flag, " cannot be \"", text, "\""),
         absl::StrCat("expected a whole number from ", min, " on"));
    return min;
  }

  absl::Duration Time(const char* flag, const std::string& text) {
    absl::Duration value;
    if (absl::ParseDuration(text, &value) && value >= absl::ZeroDuration()) {
      return value;
    }
    Fail(absl::StrCat("--", flag, " cannot be \"", text, "\""),
         "expected a time such as 10s, 500ms or 2m");
    return absl::ZeroDuration();
  }

  ProcessCount Processes(const std::string& text) {
    using From = ProcessCount::From;
    if (text.empty()) return {};
    if (text == "auto") return {.from = From::kAuto};
    if (text == "recipe") return {.from = From::kRecipe};
    int number = 0;
    if (absl::SimpleAtoi(text, &number) && number >= 1) {
      return {.from = From::kNumber, .number = number};
    }
    Fail(absl::StrCat("--num_processes cannot be \"", text, "\""),
         "expected a number from 1 on, auto or recipe");
    return {};
  }

  std::vector<CpuSet> Lists(const std::string& text) {
    if (text.empty()) return {};
    absl::StatusOr<std::vector<CpuSet>> lists = ParseCpuLists(text);
    if (lists.ok()) return *std::move(lists);
    Fail(absl::StrCat("--cpu_for_each_process: ", lists.status().message()),
         "");
    return {};
  }

  std::map<std::string, double> Amounts(const std::string& text) {
    std::map<std::string, double> amounts;
    for (const absl::string_view piece : absl::StrSplit(text, ',')) {
      const std::string part(piece);
      const size_t equals = part.find('=');
      double amount = 0;
      if (equals != part.npos && equals > 0 &&
          absl::SimpleAtod(part.substr(equals + 1), &amount) && amount > 0) {
        amounts[part.substr(0, equals)] = amount;
        continue;
      }
      Fail(absl::StrCat("--ray_resources: \"", part, "\" is no resource"),
           "expected amounts such as CPU=4,GPU=1");
    }
    return amounts;
  }

  std::optional<std::vector<int>> Ranks(const std::string& text) {
    if (text == "all") return std::nullopt;
    const absl::StatusOr<CpuSet> ranks = CpuSet::Parse(text);
    if (ranks.ok()) return ranks->ToVector();
    Fail(absl::StrCat("--log_ranks cannot be \"", text, "\""),
         "expected all, or a list of ranks such as 0,4-7");
    return std::nullopt;
  }

 private:
  Problems& problems_;
};

void Interpret(const RawFlags& raw, LaunchFlags& flags, Problems& problems) {
  Reader reader(problems);
  flags.json = raw.format == "json";
  flags.processes = reader.Processes(raw.num_processes);
  PlacementRequest& placement = flags.placement;
  placement.cpu_for_each_process = reader.Lists(raw.cpu_for_each_process);
  placement.policy =
      Choice<Policy>(raw.policy, {"spread", "pack", "numa", "l3", "exclusive"});
  placement.smt = Choice<Smt>(raw.smt, {"skip", "keep", "pair"});
  placement.remainder =
      Choice<Remainder>(raw.remainder, {"give", "drop", "error"});
  placement.reserve_cores = reader.Count("reserve_cores", raw.reserve_cores, 0);
  flags.bind = Choice<BindMode>(raw.bind, {"strict", "best_effort", "none"});
  flags.allocator = Choice<Allocator>(
      raw.allocator, {"tuned", "glibc", "jemalloc", "tcmalloc"});
  flags.grace = reader.Time("grace", raw.grace);
  flags.max_restarts = reader.Count("max_restarts", raw.max_restarts, 0);
  flags.heartbeat_timeout =
      reader.Time("heartbeat_timeout", raw.heartbeat_timeout);
  flags.log_ranks = reader.Ranks(raw.log_ranks);
  flags.ray = raw.backend == "ray";
  flags.ray_resources = reader.Amounts(raw.ray_resources);
}

void ReadCommand(const std::vector<std::string>& positional, LaunchFlags& flags,
                 Problems& problems) {
  const std::vector<std::string> names = {"run", "plan", "topo", "env"};
  if (positional.empty()) return;
  const auto it = std::find(names.begin(), names.end(), positional[0]);
  Reader reader(problems);
  if (it == names.end()) {
    const std::string meant = DidYouMean(positional[0], names);
    reader.Fail(absl::StrCat("no command \"", positional[0], "\""),
                absl::StrCat(meant, meant.empty() ? "" : " ",
                             "programs and their arguments follow a --: "
                             "launcher --num_processes=2 -- ",
                             positional[0]));
    return;
  }
  flags.command = static_cast<Command>(it - names.begin());
  for (size_t i = 1; i < positional.size(); ++i) {
    reader.Fail(absl::StrCat("\"", positional[i], "\" before the --"),
                "programs and their arguments follow a --");
  }
}

// What holds between flags.
void CheckTogether(const LaunchFlags& flags, Problems& problems) {
  Reader reader(problems);
  if (flags.calibrate && flags.command != Command::kPlan) {
    reader.Fail("--calibrate belongs to plan",
                "launcher plan --calibrate -- --recipe=...");
  }
  if (flags.ray && flags.calibrate) {
    reader.Fail("--calibrate measures this machine",
                "use it with --backend=subprocess");
  }
  if (flags.ray && !flags.topology.empty()) {
    reader.Fail("--topology with --backend=ray",
                "a Ray cluster's machines are measured where they are");
  }
  if (!flags.ray && !flags.ray_address.empty()) {
    reader.Fail("--ray_address without --backend=ray", "add --backend=ray");
  }
  const bool starts = flags.command == Command::kRun || flags.calibrate;
  if (starts && !flags.topology.empty()) {
    reader.Fail("--topology describes another machine, where nothing can run",
                "show its plan: launcher plan --topology=...");
  }
  if (flags.command == Command::kRun && !flags.help && flags.rest.empty()) {
    reader.Fail("nothing to run",
                "give the trainer's flags, or a program, after a --: launcher "
                "--num_processes=2 -- --recipe=digits_resnet");
  }
}

}  // namespace

LaunchFlags ParseLaunchFlags(const std::vector<std::string>& arguments,
                             Problems& problems) {
  LaunchFlags flags;
  RawFlags raw;
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  if (end != arguments.end()) flags.rest.assign(end + 1, arguments.end());
  const std::vector<std::string> positional =
      Table(flags, raw).Parse({arguments.begin(), end}, problems);
  ReadCommand(positional, flags, problems);
  Interpret(raw, flags, problems);
  CheckTogether(flags, problems);
  return flags;
}

std::string LaunchFlagsHelp() {
  LaunchFlags flags;
  RawFlags raw;
  return absl::StrCat(kUsage, "Flags:\n", Table(flags, raw).Help());
}

}  // namespace slipway::launcher
