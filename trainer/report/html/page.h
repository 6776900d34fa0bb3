// The report as one page of HTML.
//
//   std::ofstream("report.html") << WritePage(runs, {.written = "2026-01-02"});
//
// Nothing outside the page is needed to read it: its looks (page.css), its
// script (page.js) and its data stand in it. Tables are plain HTML; the curves
// are drawn by the script. Every text that comes from files is escaped. Pure
// functions.
#ifndef SLIPWAY_TRAINER_REPORT_HTML_PAGE_H_
#define SLIPWAY_TRAINER_REPORT_HTML_PAGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "trainer/report/html/run_data.h"

namespace slipway::html {

struct PageOptions {
  // When the page was made, for its head.
  std::string written;
};

std::string WritePage(const std::vector<RunData>& runs,
                      const PageOptions& options);

// With &, <, > and " as entities.
std::string Escape(std::string_view text);

}  // namespace slipway::html

#endif  // SLIPWAY_TRAINER_REPORT_HTML_PAGE_H_
