#include "trainer/report/html/page.h"

#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/report/html/results.h"

namespace slipway::html {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

RunData Finished() {
  RunData run;
  run.name = "digits/RUN_1";
  run.path = "/runs/digits/RUN_1";
  for (const char* line :
       {R"({"kind":"step","time":100.5,"epoch":0,"step":0,"loss":2.3,
            "lr":{"default":0.1},"samples_per_second":900,"data_wait":0.25})",
        R"({"kind":"step","time":102.5,"epoch":0,"step":10,"loss":"nan",
            "lr":{"default":0.1,"head":1},"samples_per_second":1100,
            "data_wait":0.35})"}) {
    run.steps.push_back(Json::parse(line));
  }
  for (const char* line :
       {R"({"split":"train","epoch":0,"step":11,"metrics":{"Loss":1.5},
            "seconds":2,"time":{"data":1,"forward":3},
            "advice":"raise num_workers from 1 to 2"})",
        R"({"split":"valid","epoch":0,"step":11,
            "metrics":{"Loss":1.25,"Accuracy":"inf"},"seconds":1})"}) {
    run.epochs.push_back(Json::parse(line));
  }
  for (const char* line :
       {R"({"name":"resume","epoch":0,"step":3,"detail":{"from":"<b>"}})",
        R"({"name":"checkpoint","epoch":0,"step":5,"detail":{}})",
        R"({"name":"checkpoint","epoch":0,"step":11,"detail":{}})"}) {
    run.events.push_back(Json::parse(line));
  }
  run.result = Json::parse(R"({
      "exit_reason": "done", "epochs": 1, "steps": 11, "seconds": 65,
      "samples_per_second": 1234, "device": "cuda:0", "world_size": 2,
      "peak_rss_bytes": 412000000, "peak_device_bytes": 1500000000,
      "metrics": {"best": {"name": "Accuracy", "value": 0.75, "epoch": 0}}})");
  run.recipe = {{"architecture", "resnet18"}, {"lr", "0.1"}};
  return run;
}

RunData Running() {
  RunData run = Finished();
  run.name = "</script><img src=x onerror=alert(1)>&\"";
  run.result = Json();
  run.recipe["lr"] = "0.2";
  run.notes = {"the last line of metrics.jsonl is cut"};
  return run;
}

// What stands between `<tag` and the next `</tag>`.
std::string Part(const std::string& page, const std::string& begin,
                 const std::string& end) {
  const size_t at = page.find(begin);
  if (at == page.npos) return "";
  const size_t from = page.find('>', at) + 1;
  return page.substr(from, page.find(end, from) - from);
}

// The only cell of a table's row.
std::string Cell(const std::string& table, const std::string& name) {
  const std::string head = "<th scope=row>" + name + "</th>";
  const size_t at = table.find(head);
  if (at == table.npos) return "no such row";
  return Part(table.substr(at + head.size()), "<td", "</td>");
}

Json DataOf(const std::string& page) {
  return Json::parse(Part(page, "id=data", "</script>"));
}

TEST(Page, StandsAlone) {
  const std::string page = WritePage({Finished()}, {.written = "today"});
  for (const char* reference :
       {"<link", "src=", "@import", "url(", "fetch(", "XMLHttpRequest"}) {
    EXPECT_THAT(page, Not(HasSubstr(reference)));
  }
  // The only address is SVG's name.
  std::string rest = page;
  const std::string svg = "http://www.w3.org/2000/svg";
  rest.replace(rest.find(svg), svg.size(), "");
  EXPECT_THAT(rest, Not(HasSubstr("http")));
  EXPECT_THAT(page, HasSubstr("width=device-width"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
}

// Each element that is opened is closed, in the right order.
TEST(Page, IsWellFormed) {
  const std::string page =
      WritePage({Finished(), Running()}, {.written = "today"});
  const std::set<std::string> empty = {"meta", "input", "!doctype", "wbr"};
  std::vector<std::string> open;
  for (size_t at = page.find('<'); at != page.npos; at = page.find('<', at)) {
    const size_t name = at + 1 + (page[at + 1] == '/' ? 1 : 0);
    const std::string tag =
        page.substr(name, page.find_first_of(" >\n", name) - name);
    at = page.find('>', at);
    if (page[name - 1] == '/') {
      ASSERT_FALSE(open.empty()) << tag;
      ASSERT_EQ(open.back(), tag);
      open.pop_back();
    } else if (empty.count(tag) == 0) {
      open.push_back(tag);
      if (tag == "script") at = page.find("</script>", at);
      if (tag == "style") at = page.find("</style>", at);
    }
  }
  EXPECT_THAT(open, IsEmpty());
}

TEST(Page, CarriesTheCurvesAsColumns) {
  const Json data = DataOf(WritePage({Finished(), Running()}, {}));
  ASSERT_EQ(data["runs"].size(), 2u);
  const Json& run = data["runs"][0];
  EXPECT_EQ(run["steps"]["step"], Json({0, 10}));
  EXPECT_EQ(run["steps"]["loss"], Json({2.3, "nan"}));
  EXPECT_EQ(run["steps"]["lr"]["default"], Json({0.1, 0.1}));
  EXPECT_EQ(run["steps"]["lr"]["head"], Json({nullptr, 1}));
  EXPECT_EQ(run["epochs"].size(), 2u);
  EXPECT_EQ(run["epochs"][1]["metrics"]["Accuracy"], "inf");
  // Checkpoints are no marks.
  EXPECT_EQ(run["events"].size(), 1u);
  EXPECT_EQ(run["events"][0]["name"], "resume");
}

TEST(Page, EscapesWhatComesFromFiles) {
  const std::string page = WritePage({Running()}, {.written = "<now>"});
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<now>")));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_EQ(DataOf(page)["runs"][0]["name"], Running().name);
  EXPECT_EQ(Escape("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
}

TEST(Page, ShowsDifferencesOnlyBetweenRuns) {
  EXPECT_THAT(WritePage({Finished()}, {}), Not(HasSubstr("id=recipes")));
  const std::string page = WritePage({Finished(), Running()}, {});
  const std::string recipes = Part(page, "<section id=recipes", "</section>");
  EXPECT_THAT(recipes, HasSubstr("<th scope=row class=key>lr</th>"
                                 "<td class=code>0.1</td>"
                                 "<td class=code>0.2</td>"));
  EXPECT_THAT(recipes, Not(HasSubstr("architecture")));
  EXPECT_THAT(Part(page, "<section id=plans", "</section>"),
              HasSubstr("The plans are the same."));
}

TEST(Page, SaysWhatCouldNotBeRead) {
  EXPECT_THAT(WritePage({Finished()}, {}), Not(HasSubstr("id=notes")));
  EXPECT_THAT(
      Part(WritePage({Running()}, {}), "<section id=notes", "</section>"),
      HasSubstr("the last line of metrics.jsonl is cut"));
}

TEST(Page, HasThePlannedRatesBesideThoseThatWere) {
  RunData run = Finished();
  run.plan = Json::parse(R"({"lr": [
      {"group": "default", "steps": [0, 50, 99], "values": [0.1, 0.05, 0]}]})");
  const Json data = DataOf(WritePage({run}, {}))["runs"][0];
  EXPECT_EQ(data["planned"], run.plan["lr"]);
  EXPECT_EQ(data["steps"]["lr"]["default"], Json::parse("[0.1, 0.1]"));
}

TEST(Results, TellAFinishedRun) {
  const std::string table = ResultsTable({Finished()});
  const auto row = [&table](const char* name) { return Cell(table, name); };
  EXPECT_EQ(row("state"), "done");
  EXPECT_EQ(row("best"), "Accuracy 0.7500 in epoch 1");
  EXPECT_EQ(row("valid Loss"), "1.2500");
  EXPECT_EQ(row("valid Accuracy"), "inf");
  EXPECT_EQ(row("train Loss"), "1.5000");
  EXPECT_EQ(row("model"), "resnet18");
  EXPECT_EQ(row("device"), "cuda:0, 2 ranks");
  EXPECT_EQ(row("time"), "1:05");
  EXPECT_EQ(row("samples per second"), "1.2k");
  EXPECT_EQ(row("waiting for data"), "30 %");
  EXPECT_EQ(row("peak memory"), "412 MB, device 1.5 GB");
}

TEST(Results, TellWhatIsKnownOfARunThatGoesOn) {
  const std::string table = ResultsTable({Running()});
  const auto row = [&table](const char* name) { return Cell(table, name); };
  EXPECT_EQ(row("state"), "running, or killed");
  EXPECT_EQ(row("epochs"), "1");
  EXPECT_EQ(row("steps"), "11");
  EXPECT_EQ(row("time"), "0:02");
  EXPECT_EQ(row("samples per second"), "1.0k");
  EXPECT_THAT(table, Not(HasSubstr(">best<")));
}

TEST(Results, TellWhatFailed) {
  RunData run = Finished();
  run.result["exit_reason"] = "error";
  run.result["error"] = {{"message", "it broke"}, {"detail", "at <x>"}};
  EXPECT_EQ(StateOf(run).css_class, "bad");
  EXPECT_THAT(ResultsTable({run}), HasSubstr("it broke: at &lt;x&gt;"));
}

TEST(Results, SurviveNonsense) {
  RunData run;
  run.result = Json::parse(R"({"exit_reason": 7, "metrics": [], "error": 1,
      "time": [1], "seconds": "nan", "world_size": {}})");
  run.steps.push_back(Json::parse(R"({"lr": 3, "step": "x"})"));
  run.epochs.push_back(Json::parse(R"({"split": 1, "metrics": 2, "time": 3})"));
  run.events.push_back(Json::parse(R"({"name": [], "detail": null})"));
  run.plan = Json::parse(R"({"plugins": 1, "order": 2,
      "lr": [3, {"steps": [1], "values": 2}]})");
  const std::string page = WritePage({run, run}, {});
  EXPECT_EQ(DataOf(page)["runs"].size(), 2u);
  EXPECT_THAT(WritePage({RunData()}, {}), HasSubstr("Nothing happened."));
}

TEST(Results, DrawWhereTheTimeWent) {
  const std::string bars = TimeBars({Running()});
  EXPECT_THAT(bars, HasSubstr("data 25.0 % (0:01)"));
  EXPECT_THAT(bars, HasSubstr("compute 75.0 % (0:03)"));
  EXPECT_THAT(bars, HasSubstr("raise num_workers from 1 to 2"));
  EXPECT_EQ(TimeBars({RunData()}), "");
}

TEST(Results, CountCheckpointsAndListOtherEvents) {
  const std::string table = EventsTable({Finished()});
  EXPECT_THAT(table, HasSubstr("<td>resume</td><td>3</td><td>1</td>"));
  EXPECT_THAT(table, HasSubstr("checkpoint ×2</td><td>11</td>"));
  EXPECT_THAT(table, HasSubstr("{&quot;from&quot;:&quot;&lt;b&gt;&quot;}"));
  RunData many = Finished();
  many.events.assign(300, Json::parse(R"({"name":"skip_step","step":1})"));
  EXPECT_THAT(EventsTable({many}), HasSubstr("and 100 more"));
}

}  // namespace
}  // namespace slipway::html
