#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "trainer/plan/manifest_reader.h"

namespace slipway::plan {
namespace {

using recipe::Node;
using recipe::Params;

// How the four fields of relations differ.
struct RelationField {
  std::string name;
  std::vector<Relation> Manifest::*list;
  // Whether `when` alone will do.
  bool stands_alone;
  bool needs_reason;
  // The key of what to do about it.
  std::string fix;
};

const std::vector<RelationField>& RelationFields() {
  static const auto* const fields = new std::vector<RelationField>{
      {"requires", &Manifest::requires_, false, false, "fix"},
      {"recommends", &Manifest::recommends, false, true, "advice"},
      {"conflicts", &Manifest::conflicts, true, true, "fix"},
      {"warns", &Manifest::warns, true, true, "advice"},
  };
  return *fields;
}

std::optional<VersionRange> ReadRange(Params& params) {
  if (!params.Has("version")) {
    params.Ignore("version");
    return std::nullopt;
  }
  const absl::StatusOr<VersionRange> range =
      VersionRange::Parse(params.Text("version"));
  if (range.ok()) return *range;
  params.Fail("version", std::string(range.status().message()));
  return std::nullopt;
}

Relation ReadRelation(const RelationField& field, const Node& item,
                      Problems& problems) {
  Relation relation;
  relation.mark = item.mark();
  const std::string owner = absl::StrCat("an entry of \"", field.name, "\"");
  Params params(item, owner, problems, "field");
  if (!item.is_map()) return relation;
  const std::optional<std::string> optional("");
  const std::optional<std::string> needed;
  relation.with = params.Text("with", field.stands_alone ? optional : needed);
  relation.version = ReadRange(params);
  relation.when = ReadWhen(params);
  relation.reason =
      params.Text("reason", field.needs_reason ? needed : optional);
  relation.fix = params.Text(field.fix, optional);
  params.Finish();
  if (field.stands_alone && !params.Has("with") && !params.Has("when")) {
    params.Fail("", absl::StrCat(owner, " needs \"with\" or \"when\""));
  }
  return relation;
}

}  // namespace

void ReadRelations(Params& fields, Manifest& manifest, Problems& problems) {
  for (const RelationField& field : RelationFields()) {
    for (const Node& item : ReadList(fields, field.name)) {
      (manifest.*field.list).push_back(ReadRelation(field, item, problems));
    }
  }
}

}  // namespace slipway::plan
