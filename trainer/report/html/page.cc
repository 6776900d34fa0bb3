#include "trainer/report/html/page.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "trainer/report/html/assets.h"
#include "trainer/report/html/results.h"

namespace slipway::html {
namespace {

constexpr size_t kMostSteps = 3000;

Json At(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found == line.end() ? Json() : *found;
}

// Columns: a third of the size of rows, and what a script wants.
Json StepsOf(const RunData& run) {
  Json columns = {
      {"step", Json::array()},      {"time", Json::array()},
      {"loss", Json::array()},      {"samples_per_second", Json::array()},
      {"data_wait", Json::array()}, {"lr", Json::object()}};
  const std::vector<Json> steps = ThinOut(run.steps, kMostSteps);
  std::set<std::string> groups;
  for (const Json& step : steps) {
    const Json rates = At(step, "lr");
    for (const auto& [group, rate] : rates.items()) groups.insert(group);
  }
  for (const Json& step : steps) {
    for (const char* key :
         {"step", "time", "loss", "samples_per_second", "data_wait"}) {
      columns[key].push_back(At(step, key));
    }
    const Json rates = At(step, "lr");
    for (const std::string& group : groups) {
      columns["lr"][group].push_back(At(rates, group.c_str()));
    }
  }
  return columns;
}

Json EpochsOf(const RunData& run) {
  Json epochs = Json::array();
  for (const Json& line : run.epochs) {
    Json metrics = At(line, "metrics");
    if (!metrics.is_object()) metrics = Json::object();
    epochs.push_back({{"split", At(line, "split")},
                      {"epoch", At(line, "epoch")},
                      {"step", At(line, "step")},
                      {"metrics", metrics}});
  }
  return epochs;
}

// What is marked in the curves: all but checkpoints, which are routine.
Json EventsOf(const RunData& run) {
  Json events = Json::array();
  for (const Json& line : run.events) {
    if (At(line, "name") == "checkpoint") continue;
    events.push_back({{"name", At(line, "name")}, {"step", At(line, "step")}});
  }
  return events;
}

// What plan.json says of the rates, as far as it makes sense.
Json PlannedRatesOf(const RunData& run) {
  Json planned = Json::array();
  for (const Json& group : At(run.plan, "lr")) {
    const Json steps = At(group, "steps");
    const Json values = At(group, "values");
    if (!steps.is_array() || steps.size() != values.size()) continue;
    planned.push_back(
        {{"group", At(group, "group")}, {"steps", steps}, {"values", values}});
  }
  return planned;
}

std::string Data(const std::vector<RunData>& runs) {
  Json list = Json::array();
  for (const RunData& run : runs) {
    list.push_back({{"name", run.name},
                    {"steps", StepsOf(run)},
                    {"planned", PlannedRatesOf(run)},
                    {"epochs", EpochsOf(run)},
                    {"events", EventsOf(run)}});
  }
  const std::string json = Json{{"schema", 1}, {"runs", std::move(list)}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
  // "</script>" in a text would end the script.
  return absl::StrReplaceAll(json, {{"<", "\\u003c"}});
}

std::string Legend(const std::vector<RunData>& runs) {
  std::string buttons;
  for (size_t i = 0; i < runs.size(); ++i) {
    const State state = StateOf(runs[i]);
    absl::StrAppend(
        &buttons,
        "<button type=button class=run aria-pressed=true data-run=", i,
        " title=\"", Escape(runs[i].path), "\"><span class=number style=\"",
        "--run:var(--run-", i % 8, ")\">", i + 1, "</span><span class=name>",
        Escape(runs[i].name), "</span><span class=\"state ", state.css_class,
        "\">", Escape(state.text), "</span></button>");
  }
  return absl::StrCat("<nav class=legend aria-label=\"Runs in the curves\">",
                      buttons, "</nav>");
}

constexpr char kControls[] =
    R"(<div class=controls><fieldset><legend>Against</legend>
<span class=segment><label><input type=radio name=x value=step checked>step</label>
<label><input type=radio name=x value=epoch>epoch</label>
<label><input type=radio name=x value=time>time</label></span></fieldset>
<label>Smoothing <input type=range id=smooth min=0 max=0.95 step=0.05 value=0></label>
<label><input type=checkbox id=log> logarithmic loss</label></div>
<div class=charts id=charts></div>
<noscript><p class=hint>The curves need JavaScript; the tables do not.</p></noscript>)";

std::string Section(const std::string& id, const std::string& title,
                    const std::string& hint, const std::string& body) {
  if (body.empty()) return "";
  return absl::StrCat(
      "<section id=", id, "><h2>", title, "</h2>",
      hint.empty() ? "" : absl::StrCat("<p class=hint>", hint, "</p>"), body,
      "</section>\n");
}

std::string Differences(const std::vector<RunData>& runs) {
  if (runs.size() < 2) return "";
  return absl::StrCat(
      Section("recipes", "Recipes",
              "Keys whose values differ between the runs.",
              DifferencesTable(runs, RecipeDifferences(runs), "recipes")),
      Section("plans", "Plugins",
              "What differs in the runs' plans: versions, configuration, order "
              "of hooks, claims.",
              DifferencesTable(runs, PlanDifferences(runs), "plans")));
}

std::string Notes(const std::vector<RunData>& runs) {
  std::string items;
  for (size_t i = 0; i < runs.size(); ++i) {
    for (const std::string& note : runs[i].notes) {
      absl::StrAppend(&items, "<p>", RunLabel(runs, i), ": ", Escape(note),
                      "</p>");
    }
  }
  return items;
}

std::string Title(const std::vector<RunData>& runs) {
  return runs.size() == 1 ? Escape(runs[0].name)
                          : absl::StrCat(runs.size(), " runs");
}

}  // namespace

std::string Escape(std::string_view text) {
  return absl::StrReplaceAll(
      std::string(text),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string WritePage(const std::vector<RunData>& runs,
                      const PageOptions& options) {
  return absl::StrCat(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n"
      "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=color-scheme content=\"light dark\">\n<title>",
      Title(runs), " – training report</title>\n<style>\n", kPageCss,
      "</style></head>\n<body>\n<header><h1>", Title(runs),
      "</h1><p class=sub>Training report, ", Escape(options.written), "</p>",
      "</header>\n<main>\n",
      Section("results", "Results", "", ResultsTable(runs)),
      "<section id=curves><h2>Curves</h2><p class=hint>Training is dashed, "
      "validation solid; marks at the top are events. Buttons switch runs; "
      "point at a curve, or focus it and use the arrow keys, to read values.",
      "</p>", Legend(runs), kControls, "</section>\n",
      Section("time", "Where the time went", "", TimeBars(runs)),
      Section("events", "Events", "", EventsTable(runs)), Differences(runs),
      Section("notes", "What could not be read", "", Notes(runs)),
      "</main>\n<footer>Made by Slipway's //trainer:report from the files of ",
      runs.size() == 1 ? "the run" : "the runs", ".</footer>\n",
      "<script type=\"application/json\" id=data>", Data(runs),
      "</script>\n<script>\n", kPageJs, "</script>\n</body></html>\n");
}

}  // namespace slipway::html
