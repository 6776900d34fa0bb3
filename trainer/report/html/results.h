// The tables of a report's page, and its bars of time.
//
//   page += ResultsTable(runs) + TimeBars(runs) + EventsTable(runs);
//
// Pure functions from runs to HTML.
#ifndef SLIPWAY_TRAINER_REPORT_HTML_RESULTS_H_
#define SLIPWAY_TRAINER_REPORT_HTML_RESULTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "trainer/report/html/difference.h"
#include "trainer/report/html/run_data.h"

namespace slipway::html {

// How a run stands: {"done", "good"}; the class is "good", "warn" or "bad". A
// run without a result.json is running, or was killed.
struct State {
  std::string text;
  std::string css_class;
};
State StateOf(const RunData& run);

// A row a fact, a column a run.
std::string ResultsTable(const std::vector<RunData>& runs);

// Where each run's time went, and the change that would help. Empty if no run
// tells.
std::string TimeBars(const std::vector<RunData>& runs);

// What happened besides steps; checkpoints, which are many, as one row a run.
std::string EventsTable(const std::vector<RunData>& runs);

// A row a key. `kind` is what the empty table says there is no difference of.
std::string DifferencesTable(const std::vector<RunData>& runs,
                             const std::vector<Difference>& rows,
                             std::string_view kind);

// The head of a column: the run's number and name.
std::string RunLabel(const std::vector<RunData>& runs, size_t run);

}  // namespace slipway::html

#endif  // SLIPWAY_TRAINER_REPORT_HTML_RESULTS_H_
