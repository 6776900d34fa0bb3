#include "trainer/report/html/results.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "trainer/report/console.h"
#include "trainer/report/html/page.h"

namespace slipway::html {
namespace {

// --- reading JSON of which nothing is certain --------------------------------

const Json& At(const Json& json, std::initializer_list<const char*> path) {
  static const auto* const none = new Json();
  const Json* node = &json;
  for (const char* key : path) {
    if (!node->is_object() || !node->contains(key)) return *none;
    node = &(*node)[key];
  }
  return *node;
}

std::optional<double> Number(const Json& value) {
  if (!value.is_number()) return std::nullopt;
  return value.get<double>();
}

std::string Text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "" : value.dump();
}

std::string Metric(const Json& value) {
  const std::optional<double> number = Number(value);
  return number ? absl::StrFormat("%.4f", *number) : Text(value);
}

// The mean of a number of all logged steps.
std::optional<double> StepMean(const RunData& run, const char* key) {
  double sum = 0;
  int count = 0;
  for (const Json& step : run.steps) {
    const std::optional<double> value = Number(At(step, {key}));
    if (!value) continue;
    sum += *value;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

// The last line of a split; null without one.
const Json& LastEpoch(const RunData& run, const char* split) {
  static const auto* const none = new Json();
  for (auto line = run.epochs.rbegin(); line != run.epochs.rend(); ++line) {
    if (Text(At(*line, {"split"})) == split) return *line;
  }
  return *none;
}

// --- cells -------------------------------------------------------------------

std::string Cell(const std::string& text) {
  return text.empty() ? "<td class=none>–</td>"
                      : absl::StrCat("<td>", Escape(text), "</td>");
}

// A table that scrolls by itself, by keyboard too.
std::string Table(std::string_view name, const std::string& head,
                  const std::string& body) {
  return absl::StrCat("<div class=scroll role=region tabindex=0 aria-label=\"",
                      std::string(name), "\"><table>", head, "<tbody>", body,
                      "</tbody></table></div>");
}

std::string Head(const std::vector<RunData>& runs, std::string_view first) {
  std::string row =
      absl::StrCat("<thead><tr><th scope=col>", std::string(first), "</th>");
  for (size_t i = 0; i < runs.size(); ++i) {
    absl::StrAppend(&row, "<th scope=col>", RunLabel(runs, i), "</th>");
  }
  return absl::StrCat(row, "</tr></thead>");
}

using Fact = std::function<std::string(const RunData&)>;

// A row, left out where no run knows the fact.
std::string Row(const std::vector<RunData>& runs, const std::string& name,
                const Fact& fact, const char* css_class = "") {
  std::string cells;
  bool known = false;
  for (const RunData& run : runs) {
    const std::string text = fact(run);
    known = known || !text.empty();
    cells += Cell(text);
  }
  if (!known) return "";
  return absl::StrCat("<tr class=\"", css_class, "\"><th scope=row>",
                      Escape(name), "</th>", cells, "</tr>");
}

// --- facts -------------------------------------------------------------------

std::string Epochs(const RunData& run) {
  if (run.result.is_object()) return Text(At(run.result, {"epochs"}));
  const Json& last = LastEpoch(run, "train");
  if (last.is_null()) return "0";
  return absl::StrCat(Number(At(last, {"epoch"})).value_or(-1) + 1);
}

std::string Steps(const RunData& run) {
  if (run.result.is_object()) return Text(At(run.result, {"steps"}));
  if (run.steps.empty()) return "0";
  return absl::StrCat(Number(At(run.steps.back(), {"step"})).value_or(-1) + 1);
}

std::string Took(const RunData& run) {
  if (const auto seconds = Number(At(run.result, {"seconds"}))) {
    return Duration(*seconds);
  }
  if (run.steps.empty()) return "";
  const auto first = Number(At(run.steps.front(), {"time"}));
  const auto last = Number(At(run.steps.back(), {"time"}));
  return first && last ? Duration(*last - *first) : "";
}

std::string Rate(const RunData& run) {
  auto rate = Number(At(run.result, {"samples_per_second"}));
  if (!rate) rate = StepMean(run, "samples_per_second");
  return rate ? ShortNumber(*rate) : "";
}

std::string DataWait(const RunData& run) {
  const auto share = StepMean(run, "data_wait");
  return share ? absl::StrFormat("%.0f %%", 100 * *share) : "";
}

std::string Memory(const RunData& run) {
  const auto host = Number(At(run.result, {"peak_rss_bytes"}));
  const auto device = Number(At(run.result, {"peak_device_bytes"}));
  if (!host) return "";
  return absl::StrCat(
      ShortBytes(*host),
      device ? absl::StrCat(", device ", ShortBytes(*device)) : "");
}

std::string Device(const RunData& run) {
  const std::string device = Text(At(run.result, {"device"}));
  const double ranks = Number(At(run.result, {"world_size"})).value_or(1);
  return ranks > 1 ? absl::StrCat(device, ", ", ranks, " ranks") : device;
}

std::string Best(const RunData& run) {
  const Json& best = At(run.result, {"metrics", "best"});
  if (!best.is_object()) return "";
  const double epoch = Number(At(best, {"epoch"})).value_or(0) + 1;
  return absl::StrCat(Text(At(best, {"name"})), " ",
                      Metric(At(best, {"value"})), " in epoch ", epoch);
}

std::string Resumed(const RunData& run) {
  const Json& from = At(run.result, {"resumed_from"});
  if (!from.is_object()) return "";
  return absl::StrCat("step ", Text(At(from, {"step"})));
}

std::string Failure(const RunData& run) {
  const Json& error = At(run.result, {"error"});
  if (!error.is_object()) return "";
  std::string text = Text(At(error, {"message"}));
  const std::string detail = Text(At(error, {"detail"}));
  return detail.empty() ? text : absl::StrCat(text, ": ", detail);
}

// The metrics of a split's last epoch, in the order of their first appearance.
std::string MetricRows(const std::vector<RunData>& runs, const char* split) {
  std::vector<std::string> names;
  for (const RunData& run : runs) {
    const Json& metrics = At(LastEpoch(run, split), {"metrics"});
    if (!metrics.is_object()) continue;
    for (const auto& [name, value] : metrics.items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(name);
      }
    }
  }
  std::string rows;
  for (const std::string& name : names) {
    rows += Row(runs, absl::StrCat(split, " ", name), [&](const RunData& run) {
      return Metric(At(LastEpoch(run, split), {"metrics", name.c_str()}));
    });
  }
  return rows;
}

// --- time --------------------------------------------------------------------

// What people tell apart; the colours are page.css's.
struct Part {
  const char* name;
  std::vector<const char*> phases;
};

const std::vector<Part>& Parts() {
  static const auto* const parts = new std::vector<Part>{
      {"data", {"data"}},
      {"compute", {"forward", "loss", "backward", "metrics"}},
      {"optimizer", {"optimizer"}},
      {"synchronisation", {"synchronisation"}},
      {"hooks", {"hooks"}},
      {"evaluation", {"evaluation"}},
      {"saving", {"saving"}},
      {"other", {"other"}}};
  return *parts;
}

// Seconds by phase: the whole run's if it has ended, else its epochs'.
std::map<std::string, double> TimeOf(const RunData& run) {
  std::map<std::string, double> seconds;
  const auto add = [&seconds](const Json& time) {
    if (!time.is_object()) return;
    for (const auto& [phase, value] : time.items()) {
      seconds[phase] += Number(value).value_or(0);
    }
  };
  add(At(run.result, {"time"}));
  if (!seconds.empty()) return seconds;
  for (const Json& epoch : run.epochs) add(At(epoch, {"time"}));
  return seconds;
}

std::string Bar(const std::map<std::string, double>& seconds) {
  const double total = std::accumulate(
      seconds.begin(), seconds.end(), 0.0,
      [](double sum, const auto& entry) { return sum + entry.second; });
  std::string bar, shares;
  for (const Part& part : Parts()) {
    double spent = 0;
    for (const char* phase : part.phases) {
      const auto found = seconds.find(phase);
      if (found != seconds.end()) spent += found->second;
    }
    const double percent = total > 0 ? 100 * spent / total : 0;
    if (percent < 0.05) continue;
    absl::StrAppendFormat(&bar,
                          "<i style=\"width:%.2f%%;background:"
                          "var(--phase-%s)\"></i>",
                          percent, part.name);
    absl::StrAppendFormat(&shares,
                          "<span><i style=\"background:var(--phase-%s)\"></i>"
                          "%s %.1f %% (%s)</span>",
                          part.name, part.name, percent, Duration(spent));
  }
  return absl::StrCat("<div class=bar aria-hidden=true>", bar,
                      "</div><div class=shares>", shares, "</div>");
}

// --- events ------------------------------------------------------------------

constexpr size_t kMostEvents = 200;

std::string EventRow(const std::vector<RunData>& runs, size_t run,
                     const std::string& what, const Json& event,
                     const std::string& detail) {
  const double epoch = Number(At(event, {"epoch"})).value_or(0) + 1;
  return absl::StrCat("<tr><td>", RunLabel(runs, run), "</td><td>",
                      Escape(what), "</td>", Cell(Text(At(event, {"step"}))),
                      Cell(absl::StrCat(epoch)), "<td class=code>",
                      Escape(detail), "</td></tr>");
}

std::string EventRows(const std::vector<RunData>& runs, size_t run) {
  std::string rows;
  const Json* last = nullptr;
  int checkpoints = 0;
  size_t told = 0;
  for (const Json& event : runs[run].events) {
    const std::string name = Text(At(event, {"name"}));
    if (name == "checkpoint") {
      last = &event;
      ++checkpoints;
    } else if (++told <= kMostEvents) {
      const Json& detail = At(event, {"detail"});
      rows +=
          EventRow(runs, run, name, event, detail.empty() ? "" : detail.dump());
    }
  }
  if (told > kMostEvents) {
    absl::StrAppend(&rows, "<tr><td>", RunLabel(runs, run),
                    "</td><td colspan=4>and ", told - kMostEvents,
                    " more</td></tr>");
  }
  if (last != nullptr) {
    rows += EventRow(runs, run, absl::StrCat("checkpoint ×", checkpoints),
                     *last, "the last one");
  }
  return rows;
}

}  // namespace

State StateOf(const RunData& run) {
  if (!run.result.is_object()) return {"running, or killed", "warn"};
  const std::string reason = Text(At(run.result, {"exit_reason"}));
  if (reason == "done") return {reason, "good"};
  const bool stopped = reason == "early_stop" || reason == "signal";
  return {reason, stopped ? "warn" : "bad"};
}

std::string RunLabel(const std::vector<RunData>& runs, size_t run) {
  // Long names may break where people would break them.
  const std::string name = absl::StrReplaceAll(
      Escape(runs[run].name), {{"/", "/<wbr>"}, {"_", "_<wbr>"}});
  return absl::StrCat("<span class=number style=\"--run:var(--run-", run % 8,
                      ")\">", run + 1, "</span> ", name);
}

std::string ResultsTable(const std::vector<RunData>& runs) {
  const auto recipe = [](const char* key) {
    return [key](const RunData& run) {
      const auto found = run.recipe.find(key);
      return found == run.recipe.end() ? "" : found->second;
    };
  };
  const std::string rows = absl::StrCat(
      Row(runs, "state", [](const RunData& run) { return StateOf(run).text; }),
      Row(runs, "error", Failure, "error-row"),
      Row(runs, "best", Best, "strong"), MetricRows(runs, "valid"),
      MetricRows(runs, "test"), MetricRows(runs, "average"),
      MetricRows(runs, "train"), Row(runs, "model", recipe("architecture")),
      Row(runs, "device", Device), Row(runs, "epochs", Epochs),
      Row(runs, "steps", Steps), Row(runs, "time", Took),
      Row(runs, "samples per second", Rate),
      Row(runs, "waiting for data", DataWait), Row(runs, "peak memory", Memory),
      Row(runs, "resumed from", Resumed));
  return Table("results", Head(runs, ""), rows);
}

std::string TimeBars(const std::vector<RunData>& runs) {
  std::string bars;
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto seconds = TimeOf(runs[i]);
    if (seconds.empty()) continue;
    const std::string advice =
        Text(At(LastEpoch(runs[i], "train"), {"advice"}));
    absl::StrAppend(&bars, "<div><div class=bar-name>", RunLabel(runs, i),
                    "</div>", Bar(seconds));
    if (!advice.empty()) {
      absl::StrAppend(&bars, "<div class=advice>", Escape(advice), "</div>");
    }
    bars += "</div>";
  }
  return bars.empty() ? "" : absl::StrCat("<div class=bars>", bars, "</div>");
}

std::string EventsTable(const std::vector<RunData>& runs) {
  std::string rows;
  for (size_t i = 0; i < runs.size(); ++i) rows += EventRows(runs, i);
  if (rows.empty()) return "<p class=hint>Nothing happened.</p>";
  return Table("events",
               "<thead><tr><th scope=col>run</th><th scope=col>event</th>"
               "<th scope=col>step</th><th scope=col>epoch</th>"
               "<th scope=col>detail</th></tr></thead>",
               rows);
}

std::string DifferencesTable(const std::vector<RunData>& runs,
                             const std::vector<Difference>& rows,
                             std::string_view kind) {
  if (rows.empty()) {
    return absl::StrCat("<p class=hint>The ", std::string(kind),
                        " are the same.</p>");
  }
  std::string body;
  for (const Difference& row : rows) {
    absl::StrAppend(&body, "<tr><th scope=row class=key>", Escape(row.key),
                    "</th>");
    for (const auto& value : row.values) {
      absl::StrAppend(&body, value ? "<td class=code>" : "<td class=none>",
                      value ? Escape(*value) : "–", "</td>");
    }
    body += "</tr>";
  }
  return Table(kind, Head(runs, "key"), body);
}

}  // namespace slipway::html
