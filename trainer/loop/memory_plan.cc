#include "trainer/loop/memory_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace slipway::loop {
namespace {

using Json = nlohmann::ordered_json;

// bytes = fixed + slope * batch.
struct Line {
  double fixed = 0;
  double slope = 0;
};

// Through the first and the last measurement; from the gradients through the
// only one, or where a larger batch took no more.
Line LineThrough(const MemoryPlan& plan) {
  const MemoryPlan::Measurement& a = plan.measured.front();
  const MemoryPlan::Measurement& b = plan.measured.back();
  Line line;
  if (a.batch_size != b.batch_size && b.bytes > a.bytes) {
    line.slope = static_cast<double>(b.bytes - a.bytes) /
                 static_cast<double>(b.batch_size - a.batch_size);
  } else {
    line.slope =
        static_cast<double>(std::max(b.bytes - plan.gradients, int64_t{1})) /
        static_cast<double>(b.batch_size);
  }
  line.fixed = static_cast<double>(b.bytes) -
               line.slope * static_cast<double>(b.batch_size);
  return line;
}

std::string Bytes(int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= 1'000'000'000) return absl::StrFormat("%8.2f GB", value / 1e9);
  return absl::StrFormat("%8.1f MB", value / 1e6);
}

std::string Sizes(const MemoryPlan& plan) {
  std::vector<int64_t> sizes;
  for (const auto& measurement : plan.measured) {
    sizes.push_back(measurement.batch_size);
  }
  return absl::StrJoin(sizes, " and ");
}

std::string Verdict(const MemoryPlan& plan) {
  if (plan.available == 0) return "the memory there is is unknown\n";
  const std::string there_are(
      absl::StripLeadingAsciiWhitespace(Bytes(plan.available)));
  std::string text = absl::StrCat("there are ", there_are, ": ");
  if (plan.largest_batch == 0) {
    return absl::StrCat(text, "not even a batch of one fits\n");
  }
  if (plan.total > plan.available) {
    absl::StrAppend(&text, "batch_size ", plan.batch_size, " does not fit; ");
  }
  return absl::StrCat(text, "the largest batch_size that fits is about ",
                      plan.largest_batch, "\n");
}

// What is held, and their sum last.
std::vector<std::pair<std::string, int64_t>> Parts(const MemoryPlan& plan) {
  return {{"parameters", plan.parameters},
          {"buffers", plan.buffers},
          {"gradients", plan.gradients},
          {"optimizer", plan.optimizer},
          {"plugins", plan.plugins},
          {"activations", plan.activations},
          {"loader", plan.loader},
          {"process", plan.process},
          {"total", plan.total}};
}

}  // namespace

void FitBatch(MemoryPlan& plan) {
  const Line line = LineThrough(plan);
  const auto batch = static_cast<double>(plan.batch_size);
  const double step = line.fixed + line.slope * batch;
  plan.activations =
      std::max(int64_t{0}, static_cast<int64_t>(step) - plan.gradients);
  plan.loader = plan.sample_in_loader * plan.batch_size;
  plan.total = plan.parameters + plan.buffers + plan.gradients +
               plan.optimizer + plan.plugins + plan.activations + plan.loader +
               plan.process;
  plan.per_sample = static_cast<int64_t>(line.slope) + plan.sample_in_loader;
  const int64_t without_batch = plan.total - plan.per_sample * plan.batch_size;
  plan.largest_batch =
      std::max(int64_t{0}, (plan.available - without_batch) / plan.per_sample);
}

Json ToJson(const MemoryPlan& plan) {
  Json measured = Json::array();
  for (const auto& [batch_size, bytes] : plan.measured) {
    measured.push_back({{"batch_size", batch_size}, {"bytes", bytes}});
  }
  const auto known = [&plan](int64_t value) {
    return plan.available == 0 ? Json() : Json(value);
  };
  Json json;
  for (const auto& [name, bytes] : Parts(plan)) json[name] = bytes;
  json["available"] = known(plan.available);
  json["batch_size"] = plan.batch_size;
  json["per_sample"] = plan.per_sample;
  json["largest_batch"] = known(plan.largest_batch);
  json["measured"] = std::move(measured);
  json["seconds"] = plan.seconds;
  return json;
}

std::string FormatMemoryPlan(const MemoryPlan& plan) {
  std::string table;
  for (const auto& [name, bytes] : Parts(plan)) {
    if (bytes == 0) continue;
    absl::StrAppend(&table, absl::StrFormat("  %-12s", name), Bytes(bytes),
                    "\n");
  }
  return absl::StrCat(table, "  at batch_size ", plan.batch_size,
                      ", from batches of ", Sizes(plan),
                      absl::StrFormat(", measured in %.1f s\n  ", plan.seconds),
                      Verdict(plan));
}

}  // namespace slipway::loop
