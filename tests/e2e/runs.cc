#include "tests/e2e/runs.h"

#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace slipway {

using nlohmann::json;

Arguments SmallRun(const std::string& run_dir, const Arguments& more) {
  Arguments arguments = {
      "--recipe=digits_all_plugins",
      "--run_dir=" + run_dir,
      "--plugin_path=" + RunfilePath("tests/e2e"),
      "epochs=2",
      "batch_size=16",
      "arch_params.width_mult=0.25",
      "training_hyperparams.max_train_batches=6",
      "training_hyperparams.max_valid_batches=1",
      "val_batch_size=64",
      "training_hyperparams.log_every=1",
      "+plugins.interrupts.save_every=2",
  };
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Checkpoint LatestOf(const std::string& run_dir) {
  absl::StatusOr<Checkpoint> read =
      ReadCheckpoint(run_dir + "/ckpt_latest.pth");
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? *std::move(read) : Checkpoint();
}

std::map<std::string, std::string> Contents(const Checkpoint& checkpoint) {
  std::map<std::string, std::string> contents;
  VisitTensors(
      checkpoint, [&](const std::string& path, const at::Tensor& tensor) {
        const at::Tensor plain = tensor.contiguous();
        contents[path] = std::string(
            static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
      });
  for (size_t i = 0; i < checkpoint.rng.size(); ++i) {
    contents[absl::StrCat("rng/", i)] = checkpoint.rng[i];
  }
  for (const auto& [id, plugin] : checkpoint.plugins) {
    contents["plugins/" + id] = plugin.state.values.ToYaml();
  }
  return contents;
}

void ExpectSameRuns(const std::string& run_dir, const std::string& other) {
  const Checkpoint a = LatestOf(run_dir), b = LatestOf(other);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.epoch, b.epoch);
  EXPECT_EQ(a.metrics, b.metrics);
  const auto left = Contents(a), right = Contents(b);
  EXPECT_FALSE(left.empty());
  EXPECT_EQ(left.size(), right.size());
  for (const auto& [path, bytes] : left) {
    const auto found = right.find(path);
    ASSERT_NE(found, right.end()) << path;
    EXPECT_TRUE(found->second == bytes) << path << " differs";
  }
}

std::vector<json> MetricLines(const std::string& run_dir) {
  std::vector<json> lines;
  std::istringstream text(ReadText(run_dir + "/metrics.jsonl"));
  for (std::string line; std::getline(text, line);) {
    // A kill may leave half a line at the end.
    json parsed = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!parsed.is_discarded()) lines.push_back(std::move(parsed));
  }
  return lines;
}

std::vector<json> LinesOf(const std::string& run_dir, const std::string& kind) {
  std::vector<json> found;
  for (json& line : MetricLines(run_dir)) {
    if (line["kind"] == kind) found.push_back(std::move(line));
  }
  return found;
}

std::vector<double> LossesOf(const std::string& run_dir) {
  std::vector<double> losses;
  for (const json& step : LinesOf(run_dir, "step")) {
    losses.push_back(step["loss"]);
  }
  return losses;
}

json ResultOf(const std::string& run_dir) {
  return json::parse(ReadText(run_dir + "/result.json"), nullptr, false);
}

}  // namespace slipway
