// The fields of a manifest as a table: what plugins/README.md shows.
//
//   for (const ManifestField& field : ManifestFields()) { ... }
//   std::cout << ManifestFieldsMarkdown();
//
// A test holds the table, the reader of manifests and plugins/README.md equal.
// Functions only.
#ifndef SLIPWAY_TRAINER_PLAN_MANIFEST_FIELDS_H_
#define SLIPWAY_TRAINER_PLAN_MANIFEST_FIELDS_H_

#include <string>
#include <vector>

namespace slipway::plan {

struct ManifestField {
  std::string name;
  // "yes", "" or what else would do: "this or components".
  std::string needed;
  // For people, in Markdown.
  std::string meaning;
};

// In the order in which a manifest is best written.
const std::vector<ManifestField>& ManifestFields();

// As a table of Markdown, with a line for its head.
std::string ManifestFieldsMarkdown();

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_MANIFEST_FIELDS_H_
