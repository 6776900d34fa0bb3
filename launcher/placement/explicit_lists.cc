#include "launcher/placement/explicit_lists.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {
namespace {

constexpr char kFlag[] = "--cpu_for_each_process";

void Fail(Problems& problems, std::string message, std::string hint) {
  problems.push_back({.kind = "value",
                      .message = absl::StrCat(kFlag, ": ", message),
                      .where = {{.file = "command line"}},
                      .hint = std::move(hint)});
}

std::string ListName(size_t rank, const CpuSet& list) {
  return absl::StrCat("list ", rank, " (", list.ToString(), ")");
}

void CheckList(const Topology& machine, size_t rank, const CpuSet& list,
               Problems& problems) {
  if (list.empty()) {
    Fail(problems, absl::StrCat("list ", rank, " is empty"),
         "give each process at least one CPU");
    return;
  }
  const CpuSet absent = list.Difference(machine.AllCpus());
  if (!absent.empty()) {
    Fail(problems,
         absl::StrCat(ListName(rank, list), " names CPU ", absent.ToString(),
                      ", which this machine does not have"),
         absl::StrCat("its CPUs are ", machine.AllCpus().ToString()));
  }
  const CpuSet forbidden =
      list.Difference(absent).Difference(machine.allowed_cpus);
  if (!forbidden.empty()) {
    Fail(problems,
         absl::StrCat(ListName(rank, list), " names CPU ", forbidden.ToString(),
                      ", which this process may not use"),
         absl::StrCat("allowed are ", machine.allowed_cpus.ToString()));
  }
}

// "[[0,1],[2,3]]": each inner list has numbers or ranges as texts.
absl::StatusOr<std::vector<CpuSet>> ParseJson(std::string_view text) {
  const nlohmann::json json =
      nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto wrong = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("expected lists of CPUs such as \"[[0,1],[2,3]]\" or "
                     "\"0-1;2-3\", found \"",
                     std::string(text), "\""));
  };
  if (!json.is_array()) return wrong();
  std::vector<CpuSet> lists;
  for (const nlohmann::json& inner : json) {
    if (!inner.is_array()) return wrong();
    CpuSet list;
    for (const nlohmann::json& cpu : inner) {
      if (!cpu.is_number_unsigned() ||
          cpu.get<uint64_t>() >= CpuSet::kMaxCpus) {
        return wrong();
      }
      list.insert(cpu.get<int>());
    }
    lists.push_back(std::move(list));
  }
  return lists;
}

}  // namespace

absl::StatusOr<std::vector<CpuSet>> ParseCpuLists(std::string_view text) {
  const absl::string_view all(text.data(), text.size());
  if (absl::StartsWith(all, "[")) return ParseJson(text);
  std::vector<CpuSet> lists;
  for (absl::string_view part : absl::StrSplit(all, ';')) {
    absl::StatusOr<CpuSet> list =
        CpuSet::Parse(std::string_view(part.data(), part.size()));
    if (!list.ok()) return list.status();
    lists.push_back(*std::move(list));
  }
  return lists;
}

bool CheckLists(const Topology& machine, const PlacementRequest& request,
                Problems& problems) {
  const size_t before = problems.size();
  const std::vector<CpuSet>& lists = request.cpu_for_each_process;
  if (static_cast<int>(lists.size()) != request.num_processes) {
    Fail(problems,
         absl::StrCat("expected one list for each of ", request.num_processes,
                      " processes, found ", lists.size()),
         "make --num_processes and the number of lists agree");
  }
  CpuSet taken;
  for (size_t rank = 0; rank < lists.size(); ++rank) {
    CheckList(machine, rank, lists[rank], problems);
    const CpuSet shared = taken.Intersection(lists[rank]);
    if (!shared.empty()) {
      Fail(problems,
           absl::StrCat(ListName(rank, lists[rank]), " shares CPU ",
                        shared.ToString(), " with an earlier list"),
           "each CPU may serve one process");
    }
    taken = taken.Union(lists[rank]);
  }
  return problems.size() == before;
}

}  // namespace slipway::launcher
