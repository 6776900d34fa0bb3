// inspect: tells all about plugins and plans. See request.cc for the command
// line.
//
// Exit codes: 0; 1 something does not fit: a manifest, a plan, a library; 2 bad
// usage, nothing was looked at. What was asked for goes to standard output, all
// problems to standard error; with --json one document goes to standard output,
// with its problems in it.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "trainer/find_plugins.h"
#include "trainer/inspect/catalog.h"
#include "trainer/inspect/describe.h"
#include "trainer/inspect/graph.h"
#include "trainer/inspect/probe.h"
#include "trainer/inspect/request.h"
#include "trainer/inspect/why.h"
#include "trainer/locations.h"
#include "trainer/plan/environment.h"
#include "trainer/plan/manifest_fields.h"
#include "trainer/plan/plan.h"
#include "trainer/recipe/compose.h"
#include "trainer/recipe/override.h"
#include "trainer/recipe_request.h"

namespace slipway::inspect {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFits = 0;
constexpr int kViolation = 1;
constexpr int kUsage = 2;
constexpr absl::Duration kProbeLimit = absl::Seconds(10);

int Refuse(const Problems& problems) {
  std::cerr << FormatProblems(problems);
  return kUsage;
}

int ExitCode(const Problems& problems) {
  return HasErrors(problems) ? kViolation : kFits;
}

void PrintJson(const Json& document) {
  std::cout << document.dump(2, ' ', false, Json::error_handler_t::replace)
            << "\n";
}

class Inspection {
 public:
  explicit Inspection(const InspectRequest& request)
      : request_(request),
        here_(FindLocations(ExecutablePath(), std::getenv("RUNFILES_DIR"))) {}

  int Run() {
    switch (request_.subject) {
      case Subject::kHelp:
        std::cerr << InspectHelp();
        return kFits;
      case Subject::kPlugins:
        return ShowPlugins();
      case Subject::kPlugin:
        return ShowPlugin();
      case Subject::kPlan:
        return ShowPlan();
      case Subject::kWhy:
        return ShowWhy();
      case Subject::kAbi:
        return ShowAbi();
      case Subject::kGraph:
        return ShowGraph();
      case Subject::kSchema:
        return ShowSchema();
    }
    return kUsage;
  }

 private:
  const char* PathVariable() const {
    return std::getenv("SLIPWAY_PLUGIN_PATH");
  }

  void Find(const recipe::Node& recipe) {
    plugins_ = FindPlugins(
        recipe,
        PluginFolders(request_.training.plugin_path, PathVariable(), here_),
        problems_);
  }

  std::vector<SearchedFolders> Searched() const {
    return {{"flag", request_.training.plugin_path},
            {"environment", PluginFolders({}, PathVariable(), {})},
            {"program", here_.plugin_folders}};
  }

  // Null, and a problem, if there is none.
  const plan::Manifest* FindOne(const std::string& id, Problems& problems) {
    std::vector<std::string> ids;
    for (const plan::Manifest& manifest : plugins_.manifests) {
      if (manifest.id == id) return &manifest;
      ids.push_back(manifest.id);
    }
    std::string hint = DidYouMean(id, ids);
    if (hint.empty())
      hint = "without an argument, inspect lists those there are";
    problems.push_back({.kind = "not_found",
                        .message = absl::StrCat("no plugin \"", id, "\""),
                        .hint = std::move(hint)});
    return nullptr;
  }

  plan::Environment EnvironmentOf(const recipe::Node& recipe) const {
    plan::Environment environment = plan::DetectEnvironment();
    environment.device =
        PlannedDevice(recipe, request_.training.device, environment.device);
    return environment;
  }

  int ShowPlugins() {
    Find(recipe::Node::Map());
    const std::vector<Found> found =
        WithOrigins(plugins_.manifests, Searched());
    if (request_.json) {
      PrintJson(CatalogJson(found, problems_));
    } else {
      std::cout << FormatCatalog(found);
      std::cerr << FormatProblems(problems_);
    }
    return ExitCode(problems_);
  }

  // What is wrong with other manifests is told, and no violation of this one.
  int ShowPlugin() {
    Find(recipe::Node::Map());
    std::cerr << FormatProblems(problems_);
    Problems unknown;
    const plan::Manifest* manifest = FindOne(request_.id, unknown);
    if (manifest == nullptr) return Refuse(unknown);
    if (request_.json) {
      PrintJson(PluginJson(*manifest));
    } else {
      std::cout << DescribePlugin(*manifest);
    }
    return kFits;
  }

  // The plan of the recipe; nullopt, and problems, if it has none. False if
  // there is no recipe to plan.
  bool ResolveRecipe(std::optional<plan::Plan>& plan) {
    Problems found;
    std::optional<recipe::Composed> composed =
        recipe::Compose(RecipeRequest(request_.training, here_), found);
    if (!composed) {
      std::cerr << FormatProblems(found);
      return false;
    }
    problems_ = std::move(found);
    Find(composed->recipe);
    CheckRecipe(*composed, plugins_, /*allow_unknown=*/false, problems_);
    plan = plan::ResolvePlan(plugins_.manifests, composed->recipe,
                             EnvironmentOf(composed->recipe), problems_,
                             plugins_.folders);
    if (HasErrors(problems_)) plan.reset();
    return true;
  }

  int ShowPlan() {
    std::optional<plan::Plan> plan;
    if (!ResolveRecipe(plan)) return kUsage;
    if (request_.json) {
      plan::Plan shown = plan.value_or(plan::Plan());
      shown.problems.insert(shown.problems.end(), problems_.begin(),
                            problems_.end());
      PrintJson(plan::ToJson(shown));
    } else {
      if (plan) std::cout << plan::FormatPlan(*plan);
      std::cerr << FormatProblems(problems_);
    }
    return plan ? kFits : kViolation;
  }

  int ShowWhy() {
    recipe::Node recipe = RecipeOf(request_.id, request_.other);
    Problems wrong;
    int number = 0;
    for (const std::string& text : request_.training.overrides) {
      const auto change = recipe::ParseOverride(text, ++number, wrong);
      // An override comes after what asks for the two.
      if (change) recipe::ApplyOverride(*change, number, recipe, wrong);
    }
    Find(recipe);
    const plan::Manifest* first = FindOne(request_.id, wrong);
    const plan::Manifest* second = FindOne(request_.other, wrong);
    if (HasErrors(wrong)) return Refuse(wrong);
    const Together answer = AskWhy(
        *first, *second,
        {plugins_.manifests, recipe, EnvironmentOf(recipe), plugins_.folders});
    if (request_.json) {
      PrintJson(ToJson(answer));
    } else {
      std::cout << FormatTogether(answer) << FormatProblems(answer.problems);
    }
    std::cerr << FormatProblems(problems_);
    return answer.together ? kFits : kViolation;
  }

  int ShowAbi() {
    const ProbedLibrary probed = ProbeLibrary(request_.library, kProbeLimit);
    if (request_.json) {
      PrintJson(Json::parse(probed.json));
    } else {
      std::cout << FormatProbe(probed);
      std::cerr << probed.problems;
    }
    return probed.matches ? kFits : kViolation;
  }

  int ShowGraph() {
    Graph graph;
    if (request_.training.recipe.empty()) {
      Find(recipe::Node::Map());
      graph = GraphOf(plugins_.manifests);
    } else {
      std::optional<plan::Plan> plan;
      if (!ResolveRecipe(plan)) return kUsage;
      if (plan) graph = GraphOf(*plan, plugins_.manifests);
    }
    if (request_.json) {
      PrintJson(ToJson(graph));
    } else if (!HasErrors(problems_)) {
      std::cout << ToDot(graph);
    }
    std::cerr << FormatProblems(problems_);
    return ExitCode(problems_);
  }

  int ShowSchema() {
    if (!request_.json) {
      std::cout << plan::ManifestFieldsMarkdown();
      return kFits;
    }
    Json fields = Json::array();
    for (const plan::ManifestField& field : plan::ManifestFields()) {
      fields.push_back({{"name", field.name},
                        {"needed", field.needed},
                        {"meaning", field.meaning}});
    }
    PrintJson({{"schema", 1}, {"fields", std::move(fields)}});
    return kFits;
  }

  const InspectRequest& request_;
  const Locations here_;
  PluginManifests plugins_;
  Problems problems_;
};

int Main(const std::vector<std::string>& arguments) {
  Problems problems;
  const InspectRequest request = ParseInspect(arguments, problems);
  if (request.subject != Subject::kHelp && HasErrors(problems)) {
    return Refuse(problems);
  }
  return Inspection(request).Run();
}

}  // namespace
}  // namespace slipway::inspect

int main(int argc, char** argv) {
  // `bazel run` starts programs elsewhere; users mean paths from where they
  // are.
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (directory != nullptr && chdir(directory) != 0) {
    std::cerr << "warning: cannot enter " << directory << "\n";
  }
  return slipway::inspect::Main({argv + 1, argv + argc});
}
