#include "trainer/inspect/request.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "trainer/flag_set.h"

namespace slipway::inspect {
namespace {

constexpr char kUsage[] = R"(Tells all about plugins and plans; trains nothing.

  bazel run //trainer:inspect                           the plugins there are
  bazel run //trainer:inspect -- ema                    one of them
  bazel run //trainer:inspect -- --plan=digits_resnet ema=True
  bazel run //trainer:inspect -- --why ema compile      may they run together?
  bazel run //trainer:inspect -- --abi plugins/libx.so  does it fit this trainer?
  bazel run //trainer:inspect -- --plan=digits_resnet --graph | dot -Tsvg

After --plan and --why overrides change the recipe: a.b=c, +a.b=c, ~a.b,
group=choice. $WORLD_SIZE is the number of ranks to plan for.
Ends with 0; 1 if something does not fit; 2 if it was asked wrongly.

)";

// Flags as they are written.
struct RawFlags {
  bool help = false;
  bool graph = false;
  bool schema = false;
  std::string plan;
  std::string why;
  std::string abi;
  std::string recipe_path;
  std::string plugin_path;
};

FlagSet Table(InspectRequest& request, RawFlags& raw) {
  FlagSet table;
  table.Switch("help", "this text", &raw.help);
  table.Text("plan", "NAME|FILE", "the plan of a recipe", &raw.plan);
  table.Text("why", "A B", "may these two run together, and why", &raw.why);
  table.Text("abi", "LIB.so", "a library's binary interface beside ours",
             &raw.abi);
  table.Switch("graph", "Graphviz: of --plan's plan or of all plugins",
               &raw.graph);
  table.Switch("schema", "the fields of plugin.yaml, as Markdown", &raw.schema);
  table.Switch("json", "JSON", &request.json);
  table.Text("recipe_path", "DIR[:DIR]", "where recipes are searched first",
             &raw.recipe_path);
  table.Text("plugin_path", "DIR[:DIR]", "where plugins are searched first",
             &raw.plugin_path);
  table.Text("device", "auto|cpu|cuda", "instead of the recipe's `device`",
             &request.training.device, {"auto", "cpu", "cuda"});
  return table;
}

// The flags that each ask for something, as they were given.
std::vector<std::string> Asked(const RawFlags& raw) {
  std::vector<std::string> asked;
  // A graph of a plan is one thing.
  if (!raw.plan.empty()) asked.push_back("--plan");
  if (raw.graph && raw.plan.empty()) asked.push_back("--graph");
  if (!raw.why.empty()) asked.push_back("--why");
  if (!raw.abi.empty()) asked.push_back("--abi");
  if (raw.schema) asked.push_back("--schema");
  return asked;
}

Subject SubjectOf(const RawFlags& raw, bool has_arguments) {
  if (raw.help) return Subject::kHelp;
  if (raw.graph) return Subject::kGraph;
  if (!raw.plan.empty()) return Subject::kPlan;
  if (!raw.why.empty()) return Subject::kWhy;
  if (!raw.abi.empty()) return Subject::kAbi;
  if (raw.schema) return Subject::kSchema;
  return has_arguments ? Subject::kPlugin : Subject::kPlugins;
}

// Takes the first of `arguments`; "" if there is none.
std::string TakeFirst(std::vector<std::string>& arguments) {
  if (arguments.empty()) return "";
  const std::string first = arguments.front();
  arguments.erase(arguments.begin());
  return first;
}

// Gives the arguments to what was asked.
void TakeArguments(std::vector<std::string> arguments, const RawFlags& raw,
                   InspectRequest& request, Problems& problems) {
  if (request.subject == Subject::kPlugin) request.id = TakeFirst(arguments);
  if (request.subject == Subject::kWhy) {
    request.id = raw.why;
    request.other = TakeFirst(arguments);
    if (request.other.empty() || request.other == request.id) {
      RefuseArgument(absl::StrCat("--why ", raw.why, " needs another plugin"),
                     absl::StrCat("write --why ", raw.why, " compile"),
                     problems);
    }
  }
  const bool plans = !raw.plan.empty() || request.subject == Subject::kWhy;
  if (plans) {
    request.training.overrides = std::move(arguments);
  } else if (!arguments.empty()) {
    RefuseArgument(
        absl::StrCat("too many arguments: ", absl::StrJoin(arguments, " ")),
        "only --plan and --why take overrides", problems);
  }
}

std::vector<std::string> Folders(const std::string& path) {
  return absl::StrSplit(path, ':', absl::SkipEmpty());
}

}  // namespace

InspectRequest ParseInspect(const std::vector<std::string>& arguments,
                            Problems& problems) {
  InspectRequest request;
  RawFlags raw;
  std::vector<std::string> rest =
      Table(request, raw).Parse(arguments, problems);
  const std::vector<std::string> asked = Asked(raw);
  if (asked.size() > 1) {
    RefuseArgument(
        absl::StrCat(absl::StrJoin(asked, " and "), " exclude each other"),
        "ask one thing at a time", problems);
  }
  request.subject = SubjectOf(raw, !rest.empty());
  request.library = raw.abi;
  request.training.recipe = raw.plan;
  request.training.recipe_path = Folders(raw.recipe_path);
  request.training.plugin_path = Folders(raw.plugin_path);
  TakeArguments(std::move(rest), raw, request, problems);
  return request;
}

std::string InspectHelp() {
  InspectRequest request;
  RawFlags raw;
  return absl::StrCat(kUsage, "Flags:\n", Table(request, raw).Help());
}

}  // namespace slipway::inspect
