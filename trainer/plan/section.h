// The section `plugins:` of a recipe, read.
//
//   plugins:
//     ema: {decay: 0.999}
//     com.acme.x: {version: ^1.2, on_error: warn, config: {rate: 3}}
//     allow: ["ema+com.acme.x: measured, no harm"]
//
// An entry's own keys are configuration, but for version, on_error and config;
// both forms may be mixed. `true` and null switch a plugin on, `false` off.
// Values only.
#ifndef SLIPWAY_TRAINER_PLAN_SECTION_H_
#define SLIPWAY_TRAINER_PLAN_SECTION_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/plan/planned.h"
#include "trainer/plan/version.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::plan {

struct SectionEntry {
  std::string id;
  bool on = true;
  // The last of the entry and what is in it that composition set, and when.
  Mark where;
  int order = 0;
  std::optional<VersionRange> version;
  Mark version_mark;
  OnError on_error = OnError::kFail;
  std::vector<recipe::Node::Entry> config;
};

// "ema+compile: why", which permits one conflict.
struct Allowance {
  std::string first;
  std::string second;
  std::string text;
  Mark where;

  bool Concerns(std::string_view a, std::string_view b) const;
};

struct Section {
  // In the order of the recipe. An id may come twice: `com.acme.x` as a key,
  // and as com: {acme: {x: ...}}, which an override of plugins.com.acme.x
  // makes.
  std::vector<SectionEntry> entries;
  std::vector<Allowance> allow;
  bool auto_require = false;

  std::vector<const SectionEntry*> Of(std::string_view id) const;
  // Whether the section says that the plugin is not wanted.
  bool SwitchesOff(std::string_view id) const;
};

// Reads `recipe`'s section for plugins with these ids. An unknown one is an
// error that says what there is, and `searched` where.
Section ReadSection(const recipe::Node& recipe,
                    const std::vector<std::string>& ids,
                    const std::vector<std::string>& searched,
                    Problems& problems);

// "found are amp, ema; searched /a, /b": for messages about what is not there.
std::string WhatThereIs(const std::vector<std::string>& ids,
                        const std::vector<std::string>& searched);

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_SECTION_H_
