// What compiled code gains in whole epochs of recipes: the table of
// torch.compile's document, of this trainer and on this machine.
//
//   bazel run -c opt //tests/perf:compile_table
//   bazel run -c opt //tests/perf:compile_table --
//       --recipes=digits_resnet,cifar10_resnet --batches=4 --format=json
//
// The trainer runs as a user runs it, each recipe eagerly and with
// torch_compile=True, without and with an average of the weights (EMA), on one
// rank with all cores and on several that share them. The epochs of several
// ranks have as many batches together as those of one. Mixed precision is on
// where the device computes in it; SyncBN is off. Arguments without dashes are
// overrides for all runs.
//
// For CIFAR-10, images are generated: noise that is brighter from class to
// class. Compiling takes minutes, and once: what is compiled stays in the
// user's cache.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"
#include "tests/perf/epoch_table.h"
#include "tests/perf/harness.h"
#include "trainer/plan/environment.h"

namespace slipway::perf {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

// Epochs in which code is compiled.
constexpr int kWarmUp = 1;

struct Options {
  Arguments recipes = {"digits_resnet"};
  std::vector<int> ranks = {1, 2};
  int epochs = 5;
  int batches = 20;  // of an epoch, by all ranks together
  bool json = false;
  Arguments overrides;
};

bool ReadNumber(const std::string& text, int& number) {
  return absl::SimpleAtoi(text, &number) && number > 0;
}

bool ReadRanks(const std::string& text, std::vector<int>& ranks) {
  ranks.clear();
  for (const absl::string_view one : absl::StrSplit(text, ',')) {
    if (!ReadNumber(std::string(one), ranks.emplace_back())) return false;
  }
  return true;
}

bool ReadArgument(const std::string& argument, Options& options) {
  const size_t equals = argument.find('=');
  if (!absl::StartsWith(argument, "--")) {
    options.overrides.push_back(argument);
    return true;
  }
  if (equals == std::string::npos) return false;
  const std::string name = argument.substr(2, equals - 2);
  const std::string value = argument.substr(equals + 1);
  if (name == "recipes") {
    options.recipes = absl::StrSplit(value, ',');
    return !value.empty();
  }
  if (name == "ranks") return ReadRanks(value, options.ranks);
  if (name == "epochs") return ReadNumber(value, options.epochs);
  if (name == "batches") return ReadNumber(value, options.batches);
  options.json = value == "json";
  return name == "format" && (value == "json" || value == "text");
}

// As the amp plugin has it: elsewhere it does nothing, or is slower.
bool ComputesInMixedPrecision() {
  const plan::Environment here = plan::DetectEnvironment();
  return here.device == "cuda" || here.cpu_bf16;
}

std::string Bool(bool value) { return value ? "True" : "False"; }

// --- data --------------------------------------------------------------------

// In CIFAR-10's binary version: a byte for the label, 3072 for the pixels.
void WriteImages(const fs::path& path, int count, std::mt19937& random) {
  std::ofstream file(path, std::ios::binary);
  std::uniform_int_distribution<int> noise(0, 55);
  for (int image = 0; image < count; ++image) {
    const int label = image % 10;
    file.put(static_cast<char>(label));
    for (int i = 0; i < 3072; ++i) {
      file.put(static_cast<char>(20 * label + noise(random)));
    }
  }
}

void WriteCifar10(const fs::path& folder) {
  fs::create_directories(folder);
  std::mt19937 random(1);
  for (int i = 1; i <= 5; ++i) {
    WriteImages(folder / absl::StrCat("data_batch_", i, ".bin"), 500, random);
  }
  WriteImages(folder / "test_batch.bin", 500, random);
}

// What a recipe needs besides what it says, in the folder where it runs.
Arguments Prepare(const std::string& recipe, const std::string& folder) {
  if (recipe != "cifar10_resnet") return {};
  WriteCifar10(folder + "/cifar-10-batches-bin");
  return {"dataset_params.train_dataset_params.root=.",
          "dataset_params.val_dataset_params.root=.", "num_workers=1",
          "batch_size=32", "val_batch_size=32"};
}

// --- runs --------------------------------------------------------------------

struct Variant {
  std::string recipe;
  bool ema = false;
  int ranks = 1;
};

std::string ToText(const Variant& variant, bool compiled) {
  return absl::StrCat(variant.recipe, ", EMA ", variant.ema ? "on" : "off",
                      ", ranks ", variant.ranks,
                      compiled ? ", compiled" : ", eager");
}

class Table {
 public:
  explicit Table(const Options& options)
      : options_(options),
        amp_(ComputesInMixedPrecision()),
        folder_(fs::temp_directory_path() / "table.XXXXXX") {
    if (mkdtemp(folder_.data()) == nullptr) std::exit(1);
  }
  ~Table() { fs::remove_all(folder_); }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  bool amp() const { return amp_; }

  absl::StatusOr<TableRow> RowOf(const Variant& variant) {
    const absl::StatusOr<RunFigures> baseline = Train(variant, false);
    if (!baseline.ok()) return baseline.status();
    const absl::StatusOr<RunFigures> compiled = Train(variant, true);
    if (!compiled.ok()) return compiled.status();
    return TableRow{variant.recipe, variant.ema, variant.ranks, *baseline,
                    *compiled};
  }

 private:
  Arguments TrainerArguments(const Variant& variant, bool compiled) const {
    const std::string params = "training_hyperparams.";
    Arguments arguments = {
        "--recipe=" + variant.recipe,
        "--run_dir=run",
        "--progress=none",
        absl::StrCat("epochs=", kWarmUp + options_.epochs),
        params + "save_model=False",
        params + "sync_bn=False",
        params + "ema=" + Bool(variant.ema),
        params + "mixed_precision=" + Bool(amp_),
        params + "torch_compile=" + Bool(compiled),
        absl::StrCat(params, "max_train_batches=",
                     std::max(options_.batches / variant.ranks, 1)),
        absl::StrCat(params, "max_valid_batches=",
                     std::max(options_.batches / variant.ranks, 1))};
    if (compiled) arguments.push_back("+plugins.compile.wait=True");
    return arguments;
  }

  absl::StatusOr<RunFigures> Train(const Variant& variant, bool compiled) {
    std::cerr << ToText(variant, compiled) << std::endl;
    const std::string folder = absl::StrCat(folder_, "/", ++runs_);
    fs::create_directories(folder);
    Arguments arguments = TrainerArguments(variant, compiled);
    const auto add = [&](const Arguments& more) {
      arguments.insert(arguments.end(), more.begin(), more.end());
    };
    add(Prepare(variant.recipe, folder));
    add(options_.overrides);
    std::string program = TrainerPath();
    if (variant.ranks > 1) {
      program = RunfilePath("launcher/launcher");
      const Arguments launch = {absl::StrCat("--num_processes=", variant.ranks),
                                "--auto_lr=false", "--log_dir=logs", "--"};
      arguments.insert(arguments.begin(), launch.begin(), launch.end());
    }
    const Outcome outcome =
        Process(program, arguments, folder,
                {{"OMP_NUM_THREADS",
                  std::to_string(sysconf(_SC_NPROCESSORS_ONLN))}})
            .Wait();
    if (outcome.exit_code != 0) return absl::InternalError(outcome.err);
    absl::StatusOr<RunFigures> figures = ReadRun(folder + "/run", kWarmUp);
    if (figures.ok() && figures->compile.is_object() &&
        figures->compile["reason"].is_string()) {
      std::cerr << "  " << figures->compile["reason"].get<std::string>()
                << std::endl;
    }
    return figures;
  }

  const Options& options_;
  const bool amp_;
  std::string folder_;
  int runs_ = 0;
};

int PrintTable(const Options& options) {
  Table table(options);
  std::vector<TableRow> rows;
  for (const std::string& recipe : options.recipes) {
    for (const bool ema : {false, true}) {
      for (const int ranks : options.ranks) {
        const absl::StatusOr<TableRow> row =
            table.RowOf({.recipe = recipe, .ema = ema, .ranks = ranks});
        if (!row.ok()) {
          std::cerr << row.status().message() << "\n";
          return 1;
        }
        rows.push_back(*row);
      }
    }
  }
  if (options.json) {
    const nlohmann::ordered_json json = {{"schema", 1},
                                         {"name", "compile_table"},
                                         {"machine", Machine()},
                                         {"mixed_precision", table.amp()},
                                         {"batches", options.batches},
                                         {"rows", ToJson(rows)}};
    std::cout << json.dump(2) << "\n";
  } else {
    std::cout << ToText(rows);
  }
  return 0;
}

}  // namespace
}  // namespace slipway::perf

int main(int argc, char** argv) {
  using namespace slipway::perf;  // NOLINT: the program's own
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (ReadArgument(argv[i], options)) continue;
    std::cerr << "cannot read \"" << argv[i]
              << "\"; usage: --recipes=A,B --ranks=1,2 --epochs=N --batches=N "
                 "--format=text|json OVERRIDES...\n";
    return 2;
  }
  return PrintTable(options);
}
