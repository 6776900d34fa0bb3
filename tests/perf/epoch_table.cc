#include "tests/perf/epoch_table.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tests/perf/harness.h"

namespace slipway::perf {
namespace {

using nlohmann::ordered_json;

struct Epoch {
  std::optional<double> train;
  double synchronisation = 0;
  std::optional<double> valid;
};

absl::StatusOr<std::map<int, Epoch>> ReadEpochs(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("no file ", path));
  std::map<int, Epoch> epochs;
  for (std::string line; std::getline(file, line);) {
    const auto json = ordered_json::parse(line, nullptr, false);
    if (json.is_discarded() || json.value("kind", "") != "epoch") continue;
    Epoch& epoch = epochs[json.value("epoch", 0)];
    const std::string split = json.value("split", "");
    if (split == "train") {
      epoch.train = json.value("seconds", 0.0);
      epoch.synchronisation = json.value("time", ordered_json::object())
                                  .value("synchronisation", 0.0);
    }
    if (split == "valid") epoch.valid = json.value("seconds", 0.0);
  }
  return epochs;
}

absl::StatusOr<RunFigures> ReadResult(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("no file ", path));
  const auto json = ordered_json::parse(file, nullptr, false);
  if (!json.is_object() || !json.contains("metrics")) {
    return absl::DataLossError(absl::StrCat(path, " is no result.json"));
  }
  RunFigures figures;
  figures.metrics = json["metrics"].value("final", ordered_json::object());
  figures.peak_rss_bytes = json.value("peak_rss_bytes", int64_t{0});
  figures.compile = json.value("compile", ordered_json());
  return figures;
}

// --- text --------------------------------------------------------------------

using Line = std::vector<std::string>;

// Columns as wide as their widest cell; the first one is text, others numbers.
std::string Aligned(const std::vector<Line>& lines) {
  std::vector<size_t> widths;
  for (const Line& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::string text;
  for (const Line& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      const int width = static_cast<int>(widths[i]);
      absl::StrAppendFormat(&text, "%*s%s", i == 0 ? -width : width, line[i],
                            i + 1 < line.size() ? "  " : "\n");
    }
  }
  return text;
}

std::string OnOff(bool on) { return on ? "on" : "off"; }

std::string Ranks(int ranks) {
  return absl::StrCat(ranks, ranks == 1 ? " rank" : " ranks");
}

std::set<int> RanksIn(const std::vector<TableRow>& rows) {
  std::set<int> ranks;
  for (const TableRow& row : rows) ranks.insert(row.ranks);
  return ranks;
}

Line EpochHeader(const std::set<int>& ranks) {
  Line header = {"recipe", "EMA"};
  for (const char* what : {"baseline", "compiled", "improvement"}) {
    for (const int count : ranks) {
      header.push_back(absl::StrCat(what, " (", Ranks(count), ")"));
    }
  }
  return header;
}

// Cells of one line, by column of EpochHeader; nothing where nothing was run.
std::vector<Line> EpochLines(const std::vector<TableRow>& rows) {
  const std::set<int> ranks = RanksIn(rows);
  std::vector<Line> lines = {EpochHeader(ranks)};
  std::map<std::pair<std::string, bool>, size_t> line_of;
  for (const TableRow& row : rows) {
    const auto [found, is_new] =
        line_of.emplace(std::pair(row.recipe, row.ema), lines.size());
    if (is_new) {
      lines.push_back({row.recipe, OnOff(row.ema)});
      lines.back().resize(lines[0].size());
    }
    Line& line = lines[found->second];
    const size_t column =
        2 + std::distance(ranks.begin(), ranks.find(row.ranks));
    line[column] = absl::StrFormat("%.3f s", row.baseline.seconds);
    line[column + ranks.size()] =
        absl::StrFormat("%.3f s", row.compiled.seconds);
    line[column + 2 * ranks.size()] =
        absl::StrFormat("%.1f %%", row.improvement());
  }
  return lines;
}

std::string MetricsOf(const RunFigures& run) {
  std::vector<std::string> all;
  for (const auto& [split, metrics] : run.metrics.items()) {
    for (const auto& [name, value] : metrics.items()) {
      if (!value.is_number()) continue;
      all.push_back(
          absl::StrFormat("%s %s %.4g", split, name, value.get<double>()));
    }
  }
  return absl::StrJoin(all, ", ");
}

// "step, plain".
std::string CodeOf(const RunFigures& run) {
  if (!run.compile.is_object()) return "eager";
  return absl::StrCat(run.compile.value("scope", "model"), ", ",
                      run.compile.value("candidate", "eager"));
}

void AddDetails(const TableRow& row, std::vector<Line>& lines) {
  for (const RunFigures* run : {&row.baseline, &row.compiled}) {
    lines.push_back({absl::StrCat(row.recipe, ", EMA ", OnOff(row.ema), ", ",
                                  Ranks(row.ranks)),
                     run == &row.baseline ? "baseline" : "compiled",
                     CodeOf(*run),
                     absl::StrFormat("%.3f s", run->train_seconds),
                     absl::StrFormat("%.3f s", run->synchronisation_seconds),
                     absl::StrFormat("%.3f s", run->valid_seconds),
                     absl::StrFormat("%.0f MB", run->peak_rss_bytes * 1e-6),
                     MetricsOf(*run)});
  }
}

// --- JSON --------------------------------------------------------------------

ordered_json ToJson(const RunFigures& run) {
  return {{"seconds", run.seconds},
          {"train_seconds", run.train_seconds},
          {"synchronisation_seconds", run.synchronisation_seconds},
          {"valid_seconds", run.valid_seconds},
          {"epochs", run.epochs},
          {"metrics", run.metrics},
          {"peak_rss_bytes", run.peak_rss_bytes},
          {"compile", run.compile}};
}

}  // namespace

double TableRow::improvement() const {
  return 100 * (baseline.seconds - compiled.seconds) / baseline.seconds;
}

absl::StatusOr<RunFigures> ReadRun(const std::string& run_dir, int warm_up) {
  const auto epochs = ReadEpochs(run_dir + "/metrics.jsonl");
  if (!epochs.ok()) return epochs.status();
  absl::StatusOr<RunFigures> figures = ReadResult(run_dir + "/result.json");
  if (!figures.ok()) return figures;
  std::vector<double> all, train, valid, synchronisation;
  for (const auto& [number, epoch] : *epochs) {
    if (number < warm_up || !epoch.train || !epoch.valid) continue;
    train.push_back(*epoch.train);
    synchronisation.push_back(epoch.synchronisation);
    valid.push_back(*epoch.valid);
    all.push_back(*epoch.train + *epoch.valid);
  }
  if (all.empty()) {
    return absl::DataLossError(
        absl::StrCat(run_dir, " has no epoch after the warm-up"));
  }
  figures->seconds = Quantile(all, 0.5);
  figures->train_seconds = Quantile(train, 0.5);
  figures->synchronisation_seconds = Quantile(synchronisation, 0.5);
  figures->valid_seconds = Quantile(valid, 0.5);
  figures->epochs = static_cast<int64_t>(all.size());
  return figures;
}

std::string ToText(const std::vector<TableRow>& rows) {
  std::vector<Line> details = {{"run", "", "code", "training", "of it waiting",
                                "validation", "peak", "final"}};
  for (const TableRow& row : rows) AddDetails(row, details);
  return absl::StrCat(Aligned(EpochLines(rows)), "\n", Aligned(details));
}

ordered_json ToJson(const std::vector<TableRow>& rows) {
  ordered_json json = ordered_json::array();
  for (const TableRow& row : rows) {
    json.push_back({{"recipe", row.recipe},
                    {"ema", row.ema},
                    {"ranks", row.ranks},
                    {"baseline", ToJson(row.baseline)},
                    {"compiled", ToJson(row.compiled)},
                    {"improvement", row.improvement()}});
  }
  return json;
}

}  // namespace slipway::perf
