#include "trainer/plan/section.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/recipe/params.h"

namespace slipway::plan {
namespace {

using recipe::Node;
using recipe::Params;

constexpr const char* kReserved[] = {"allow", "path", "auto_require"};

// The last that composition set in the tree of `node`; of equals, the first.
const Node& LatestIn(const Node& node) {
  const Node* latest = &node;
  const auto consider = [&latest](const Node& child) {
    const Node& candidate = LatestIn(child);
    if (candidate.order() > latest->order()) latest = &candidate;
  };
  for (const Node& item : node.items()) consider(item);
  for (const Node::Entry& entry : node.entries()) consider(entry.value);
  return *latest;
}

OnError OnErrorNamed(std::string_view name) {
  if (name == "warn") return OnError::kWarn;
  return name == "disable" ? OnError::kDisable : OnError::kFail;
}

class SectionReader {
 public:
  SectionReader(const std::vector<std::string>& ids,
                const std::vector<std::string>& searched, Problems& problems)
      : ids_(ids), searched_(searched), problems_(problems) {}

  Section Read(const Node& plugins);

 private:
  void ReadEntries(const std::string& prefix, const Node& map);
  void ReadEntry(std::string id, const Node::Entry& entry);
  void ReadMap(const Node& map, SectionEntry& entry);
  void ReadAllowance(const Node& item);
  void ComplainOfUnknown(const std::string& id, const Mark& where);
  bool IsPrefix(const std::string& name) const;

  const std::vector<std::string>& ids_;
  const std::vector<std::string>& searched_;
  Problems& problems_;
  Section section_;
};

bool SectionReader::IsPrefix(const std::string& name) const {
  return std::any_of(ids_.begin(), ids_.end(), [&](const std::string& id) {
    return id.starts_with(name + ".");
  });
}

void SectionReader::ComplainOfUnknown(const std::string& id,
                                      const Mark& where) {
  problems_.push_back({.kind = "not_found",
                       .message = absl::StrCat("no plugin \"", id, "\""),
                       .detail = WhatThereIs(ids_, searched_),
                       .where = {where},
                       .hint = DidYouMean(id, ids_),
                       .plugins = {id}});
}

void SectionReader::ReadMap(const Node& map, SectionEntry& entry) {
  Params params(map, absl::StrCat("plugin \"", entry.id, "\""), problems_,
                "configuration key");
  entry.on_error = OnErrorNamed(
      params.Text("on_error", "fail", {"fail", "warn", "disable"}));
  const std::string range = params.Text("version", "");
  if (!range.empty()) {
    const absl::StatusOr<VersionRange> parsed = VersionRange::Parse(range);
    if (parsed.ok()) {
      entry.version = *parsed;
      entry.version_mark = map.Find("version")->mark();
    } else {
      params.Fail("version", std::string(parsed.status().message()));
    }
  }
  const Node* const config = params.Raw("config");
  if (config != nullptr) {
    // Whatever is no map there is refused by the reader of its keys.
    Params(*config, absl::StrCat("plugin \"", entry.id, "\""), problems_,
           "configuration key");
    entry.config = config->entries();
  }
  for (const Node::Entry& own : map.entries()) {
    if (!IsReservedConfigKey(own.key)) entry.config.push_back(own);
  }
}

void SectionReader::ReadEntry(std::string id, const Node::Entry& given) {
  const Node& value = given.value;
  SectionEntry entry;
  entry.id = std::move(id);
  const Node& latest = LatestIn(value);
  entry.order = latest.order();
  // The key says it better, unless another file or override came after it.
  entry.where = latest.mark().file == given.key_mark.file ? given.key_mark
                                                          : latest.mark();
  if (value.is_bool()) {
    entry.on = value.AsBool();
  } else if (value.is_map()) {
    ReadMap(value, entry);
  } else if (!value.is_null()) {
    problems_.push_back(
        {.kind = "value",
         .message = absl::StrCat("the entry of plugin \"", entry.id, "\" is ",
                                 value.ToDisplay()),
         .detail = "expected a map of its configuration",
         .where = {value.mark()},
         .hint = absl::StrCat("write ", entry.id, ": {} for its defaults"),
         .plugins = {entry.id}});
  }
  section_.entries.push_back(std::move(entry));
}

void SectionReader::ReadEntries(const std::string& prefix, const Node& map) {
  for (const Node::Entry& entry : map.entries()) {
    const std::string name = prefix + entry.key;
    const bool reserved = std::find(std::begin(kReserved), std::end(kReserved),
                                    name) != std::end(kReserved);
    if (reserved) continue;
    if (std::count(ids_.begin(), ids_.end(), name) > 0) {
      ReadEntry(name, entry);
    } else if (entry.value.is_map() && IsPrefix(name)) {
      ReadEntries(name + ".", entry.value);
    } else {
      ComplainOfUnknown(name, entry.key_mark);
    }
  }
}

void SectionReader::ReadAllowance(const Node& item) {
  std::string text = item.is_string() ? item.AsString() : "";
  // Without quotes, `a+b: why` is a map of one entry.
  if (item.entries().size() == 1 && item.entries()[0].value.is_string()) {
    const Node::Entry& entry = item.entries()[0];
    text = absl::StrCat(entry.key, ": ", entry.value.AsString());
  }
  const size_t colon = text.find(':'), plus = text.find('+');
  const bool has_reason =
      colon != std::string::npos &&
      text.find_first_not_of(' ', colon + 1) != std::string::npos;
  if (plus < colon && has_reason) {
    section_.allow.push_back({text.substr(0, plus),
                              text.substr(plus + 1, colon - plus - 1), text,
                              item.mark()});
    return;
  }
  problems_.push_back(
      {.kind = "value",
       .message = absl::StrCat("plugins.allow has ", item.ToDisplay()),
       .detail = "expected the two plugins that conflict, and why it does no "
                 "harm",
       .where = {item.mark()},
       .hint = "such as \"ema+compile: parameters are not captured\""});
}

Section SectionReader::Read(const Node& plugins) {
  Params params(plugins, "the section \"plugins\"", problems_, "plugin");
  section_.auto_require = params.Bool("auto_require", false);
  if (const Node* const allow = params.Raw("allow")) {
    for (const Node& item : allow->items()) ReadAllowance(item);
    if (!allow->is_list()) ReadAllowance(*allow);
  }
  ReadEntries("", plugins);
  return std::move(section_);
}

}  // namespace

bool Allowance::Concerns(std::string_view a, std::string_view b) const {
  return (first == a && second == b) || (first == b && second == a);
}

std::vector<const SectionEntry*> Section::Of(std::string_view id) const {
  std::vector<const SectionEntry*> found;
  for (const SectionEntry& entry : entries) {
    if (entry.id == id) found.push_back(&entry);
  }
  return found;
}

bool Section::SwitchesOff(std::string_view id) const {
  const std::vector<const SectionEntry*> own = Of(id);
  return !own.empty() &&
         std::none_of(own.begin(), own.end(),
                      [](const SectionEntry* entry) { return entry->on; });
}

Section ReadSection(const Node& recipe, const std::vector<std::string>& ids,
                    const std::vector<std::string>& searched,
                    Problems& problems) {
  const Node* const plugins = recipe.Find("plugins");
  if (plugins == nullptr) return {};
  return SectionReader(ids, searched, problems).Read(*plugins);
}

std::string WhatThereIs(const std::vector<std::string>& ids,
                        const std::vector<std::string>& searched) {
  std::string text = ids.empty()
                         ? "no plugin was found"
                         : absl::StrCat("found are ", absl::StrJoin(ids, ", "));
  if (!searched.empty()) {
    absl::StrAppend(&text, "; searched ", absl::StrJoin(searched, ", "));
  }
  return text;
}

}  // namespace slipway::plan
