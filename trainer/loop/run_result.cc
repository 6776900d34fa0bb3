#include "trainer/loop/run_result.h"

#include "libtorch_version.h"
#include "trainer/report/json_lines.h"
#include "trainer/version.h"

namespace slipway::loop {
namespace {

using Json = nlohmann::ordered_json;

Json OrNull(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json Metrics(const RunResult& result) {
  Json best;
  if (result.best) {
    best = {{"name", result.best->name},
            {"value", JsonNumber(result.best->value)},
            {"epoch", result.best->epoch}};
  }
  return {{"final",
           {{"train", JsonObject(result.train_metrics)},
            {"valid", JsonObject(result.valid_metrics)}}},
          {"best", best}};
}

Json Plugins(const std::vector<PluginSeconds>& plugins) {
  Json list = Json::array();
  for (const PluginSeconds& plugin : plugins) {
    list.push_back({{"id", plugin.id},
                    {"version", plugin.version},
                    {"seconds", plugin.seconds},
                    {"hooks", JsonObject(plugin.hooks)}});
  }
  return list;
}

Json Resumed(const std::optional<ResumedFrom>& from) {
  if (!from) return Json();
  return {{"path", from->path}, {"epoch", from->epoch}, {"step", from->step}};
}

void AddCounts(const RunResult& result, Json& json) {
  json["epochs"] = result.epochs;
  json["steps"] = result.steps;
  json["samples"] = result.samples;
  json["seconds"] = result.seconds;
  json["samples_per_second"] = result.samples_per_second();
  json["peak_rss_bytes"] = result.peak_rss_bytes;
  json["peak_device_bytes"] =
      result.peak_device_bytes ? Json(*result.peak_device_bytes) : Json();
}

}  // namespace

std::string_view ToString(ExitReason reason) {
  switch (reason) {
    case ExitReason::kDone:
      return "done";
    case ExitReason::kEarlyStop:
      return "early_stop";
    case ExitReason::kSignal:
      return "signal";
    case ExitReason::kNonFinite:
      return "non_finite";
    case ExitReason::kPeerLost:
      return "peer_lost";
    case ExitReason::kError:
      return "error";
  }
  return "error";
}

Json ToJson(const RunResult& result) {
  Json json;
  json["schema"] = 1;
  json["exit_reason"] = ToString(result.exit_reason);
  json["exit_code"] = result.exit_code;
  json["error"] = result.error ? Json(slipway::ToJson(*result.error)) : Json();
  json["recipe"] = OrNull(result.recipe);
  json["run_dir"] = OrNull(result.run_dir);
  json["plan_hash"] = OrNull(result.plan_hash);
  json["tainted"] = result.tainted;
  json["world_size"] = result.world_size;
  json["device"] = result.device;
  AddCounts(result, json);
  json["metrics"] = Metrics(result);
  json["checkpoints"] = {{"latest", OrNull(result.latest_checkpoint)},
                         {"best", OrNull(result.best_checkpoint)},
                         {"average", OrNull(result.average_checkpoint)}};
  json["resumed_from"] = Resumed(result.resumed_from);
  json["plugins"] = Plugins(result.plugins);
  json["time"] = JsonObject(result.phase_seconds);
  // Null without the plugin.
  json["compile"] = nullptr;
  for (const auto& [name, section] : result.sections.items()) {
    json[name] = section;
  }
  json["versions"] = {{"slipway", kVersion}, {"libtorch", kLibtorchVersion}};
  return json;
}

}  // namespace slipway::loop
