#include "trainer/plan/order.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/plan/draft.h"

namespace slipway::plan {
namespace {

// Hooks that undo or end what an earlier hook began.
constexpr const char* kClosing[] = {"MicroEnd",  "StepEnd",   "EpochEnd",
                                    "EvalEnd",   "AfterSave", "FitEnd",
                                    "OnFailure", "Close"};

bool IsClosing(const std::string& hook) {
  return std::find(std::begin(kClosing), std::end(kClosing), hook) !=
         std::end(kClosing);
}

// `first` runs before `then`, because of what stands at `mark`.
struct Demand {
  const Chosen* first;
  const Chosen* then;
  Mark mark;
};

std::vector<Demand> DemandsIn(const Draft& draft) {
  std::vector<Demand> demands;
  for (const Chosen& plugin : draft.chosen) {
    const Manifest& manifest = plugin.manifest;
    for (size_t i = 0; i < manifest.before.size(); ++i) {
      const Mark mark = manifest.MarkOf(absl::StrCat("before.", i));
      for (const Chosen* other : draft.Others(plugin, manifest.before[i])) {
        demands.push_back({&plugin, other, mark});
      }
    }
    for (size_t i = 0; i < manifest.after.size(); ++i) {
      const Mark mark = manifest.MarkOf(absl::StrCat("after.", i));
      for (const Chosen* other : draft.Others(plugin, manifest.after[i])) {
        demands.push_back({other, &plugin, mark});
      }
    }
  }
  return demands;
}

// Depth first: whoever must come before a plugin is placed when its turn comes,
// and nobody else moves.
class Sorter {
 public:
  explicit Sorter(Draft& draft) : draft_(draft), demands_(DemandsIn(draft)) {}

  std::vector<const Chosen*> Sort() {
    for (const Chosen& plugin : draft_.chosen) Place(plugin);
    return std::move(placed_);
  }

 private:
  enum class State { kNew, kOpen, kPlaced };

  void Place(const Chosen& plugin);
  std::vector<const Demand*> DemandsBefore(const Chosen& plugin) const;
  void ComplainOfCycle(const Demand& closing);

  Draft& draft_;
  const std::vector<Demand> demands_;
  std::map<const Chosen*, State> states_;
  // The demands that led from the plugin whose turn it was to the current one.
  std::vector<const Demand*> path_;
  std::vector<const Chosen*> placed_;
};

// By load order of those that must run first.
std::vector<const Demand*> Sorter::DemandsBefore(const Chosen& plugin) const {
  std::vector<const Demand*> found;
  for (const Chosen& first : draft_.chosen) {
    const auto demand = std::find_if(
        demands_.begin(), demands_.end(), [&](const Demand& demand) {
          return demand.first == &first && demand.then == &plugin;
        });
    if (demand != demands_.end()) found.push_back(&*demand);
  }
  return found;
}

void Sorter::Place(const Chosen& plugin) {
  State& state = states_[&plugin];
  if (state != State::kNew) return;
  state = State::kOpen;
  for (const Demand* demand : DemandsBefore(plugin)) {
    if (states_[demand->first] == State::kOpen) {
      ComplainOfCycle(*demand);
      continue;
    }
    path_.push_back(demand);
    Place(*demand->first);
    path_.pop_back();
  }
  state = State::kPlaced;
  placed_.push_back(&plugin);
}

// The path was walked against the order: its last demands, backwards, lead from
// the plugin that `closing` ends at to the one it starts from.
void Sorter::ComplainOfCycle(const Demand& closing) {
  std::vector<const Demand*> cycle = {&closing};
  for (auto demand = path_.rbegin();
       cycle.back()->then != closing.first && demand != path_.rend();
       ++demand) {
    cycle.push_back(*demand);
  }
  Problem problem = {.kind = "order"};
  std::vector<std::string> lines;
  for (const Demand* demand : cycle) {
    lines.push_back(absl::StrCat(demand->first->id(), " before ",
                                 demand->then->id(), ": ",
                                 ToString(demand->mark)));
    problem.plugins.push_back(demand->first->id());
    problem.where.push_back(demand->mark);
  }
  problem.message = absl::StrCat("the order of plugins has a cycle: ",
                                 absl::StrJoin(problem.plugins, " -> "), " -> ",
                                 closing.first->id());
  problem.detail = absl::StrJoin(lines, "\n");
  problem.hint = "use fewer of these plugins together";
  draft_.problems.push_back(std::move(problem));
}

}  // namespace

std::map<std::string, std::vector<std::string>> OrderHooks(Draft& draft) {
  const std::vector<const Chosen*> sorted = Sorter(draft).Sort();
  std::map<std::string, std::vector<std::string>> order;
  for (const Chosen* plugin : sorted) {
    for (const std::string& hook : plugin->planned.hooks) {
      order[hook].push_back(plugin->id());
    }
  }
  for (auto& [hook, ids] : order) {
    if (IsClosing(hook)) std::reverse(ids.begin(), ids.end());
  }
  return order;
}

}  // namespace slipway::plan
