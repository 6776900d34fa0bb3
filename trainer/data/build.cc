#include "trainer/data/build.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/data/component_spec.h"
#include "trainer/recipe/merge.h"
#include "trainer/recipe/params.h"

namespace slipway::data {
namespace {

using recipe::Node;
using recipe::Params;

std::string Prefix(Split split) {
  switch (split) {
    case Split::kTrain:
      return "train";
    case Split::kValid:
      return "val";
    case Split::kTest:
      return "test";
  }
  return {};
}

std::string LoaderKey(Split split) { return Prefix(split) + "_dataloader"; }

std::string DatasetParamsPath(Split split) {
  return absl::StrCat("dataset_params.", Prefix(split), "_dataset_params");
}

std::string LoaderParamsPath(Split split) {
  return absl::StrCat("dataset_params.", Prefix(split), "_dataloader_params");
}

// The value that names the data set; null if there is none.
const Node* NameOf(const Node& recipe, Split split) {
  const std::string in_params = LoaderParamsPath(split) + ".dataset";
  for (const std::string& path : {LoaderKey(split), in_params}) {
    const Node* name = recipe.FindPath(path);
    if (name != nullptr && !name->is_null()) return name;
  }
  return nullptr;
}

// The map at `path`, empty where there is none or null.
Node MapAt(const Node& recipe, const std::string& path, Problems& problems) {
  const Node* value = recipe.FindPath(path);
  if (value == nullptr || value->is_null()) return Node::Map();
  if (value->is_map()) return *value;
  problems.push_back(
      {.kind = "value",
       .message = absl::StrCat("\"", path, "\" is ", value->ToDisplay()),
       .detail = "expected a map",
       .where = {value->mark()}});
  return Node::Map();
}

Node MapOr(const Node& map) { return map.is_map() ? map : Node::Map(); }

Node WithoutNulls(const Node& map) {
  Node result = Node::Map(map.mark());
  for (const Node::Entry& entry : map.entries()) {
    if (!entry.value.is_null()) {
      result.Set(entry.key, entry.value, entry.key_mark);
    }
  }
  return result;
}

// Moves `key` out of `map`; null if it is not there.
Node TakeOut(Node& map, std::string_view key) {
  const Node* found = map.Find(key);
  if (found == nullptr) return Node();
  Node value = *found;
  map.Erase(key);
  return value;
}

// Builds one loader, and collects what is wrong with it.
class Builder {
 public:
  Builder(const Node& recipe, Split split, const Components& components,
          const LoaderWorld& world)
      : recipe_(recipe),
        split_(split),
        components_(components),
        world_(world) {}

  std::unique_ptr<Loader> Build();
  Problems TakeProblems() { return std::move(problems_); }

 private:
  const DatasetEntry* FindDataset();
  void MergeParams(const DatasetEntry& entry);
  LoaderOptions ReadOptions(Params& params, int64_t size);
  LoaderOptions::OnBadSample ReadOnBadSample();
  void AddTransforms(LoaderParts& parts);
  std::unique_ptr<Collate> BuildCollate(Params& params);
  std::unique_ptr<Sampler> BuildSampler(Params& params, int64_t size);
  void IgnoreProcessKeys(Params& params);
  void CheckHasBatches(const Loader& loader);

  // What the factory that `spec` names makes of its parameters and `more`.
  template <typename Part, typename Function, typename... More>
  std::unique_ptr<Part> BuildPart(const Registry<Function>& registry,
                                  const ComponentSpec& spec,
                                  std::string_view noun, More... more);

  BuildArgs Args(const Node& params) {
    return {params, recipe_, components_, problems_, world_.seed};
  }

  const Node& recipe_;
  const Split split_;
  const Components& components_;
  const LoaderWorld world_;
  Problems problems_;
  std::string name_;
  Node dataset_params_;
  Node loader_params_;
};

template <typename Part, typename Function, typename... More>
std::unique_ptr<Part> Builder::BuildPart(const Registry<Function>& registry,
                                         const ComponentSpec& spec,
                                         std::string_view noun, More... more) {
  const Function* factory = registry.Find(spec.name);
  if (factory != nullptr) return (*factory)(Args(spec.params), more...);
  problems_.push_back(UnknownComponent(spec, noun, registry.names()));
  return nullptr;
}

std::unique_ptr<Loader> Builder::Build() {
  const DatasetEntry* entry = FindDataset();
  if (entry == nullptr) return nullptr;
  MergeParams(*entry);
  LoaderParts parts;
  AddTransforms(parts);
  const LoaderOptions::OnBadSample on_bad_sample = ReadOnBadSample();
  parts.dataset = entry->create(Args(dataset_params_));

  const int64_t size = parts.dataset ? parts.dataset->size() : 0;
  Params params(loader_params_, Prefix(split_) + "_dataloader_params",
                problems_, "key");
  LoaderOptions options = ReadOptions(params, size);
  options.on_bad_sample = on_bad_sample;
  parts.collate = BuildCollate(params);
  parts.sampler = BuildSampler(params, size);
  IgnoreProcessKeys(params);
  params.Finish();
  if (HasErrors(problems_)) return nullptr;

  auto loader = std::make_unique<Loader>(std::move(parts), options);
  CheckHasBatches(*loader);
  return loader;
}

const DatasetEntry* Builder::FindDataset() {
  const std::vector<std::string> known = components_.datasets.names();
  const Node* value = NameOf(recipe_, split_);
  if (value == nullptr) {
    problems_.push_back({.kind = "recipe",
                         .message = absl::StrCat("the recipe has no \"",
                                                 LoaderKey(split_), "\""),
                         .hint = "known are " + absl::StrJoin(known, ", ")});
    return nullptr;
  }
  const std::optional<ComponentSpec> spec =
      ReadComponent(*value, "data set", problems_);
  if (!spec) return nullptr;
  name_ = spec->name;
  const DatasetEntry* entry = components_.datasets.Find(name_);
  if (entry == nullptr) {
    problems_.push_back(UnknownComponent(*spec, "data set", known));
  }
  return entry;
}

void Builder::MergeParams(const DatasetEntry& entry) {
  dataset_params_ = MapOr(entry.dataset_defaults);
  recipe::Merge(MapAt(recipe_, DatasetParamsPath(split_), problems_),
                dataset_params_);
  loader_params_ = MapOr(entry.loader_defaults);
  recipe::Merge(
      WithoutNulls(MapAt(recipe_, LoaderParamsPath(split_), problems_)),
      loader_params_);
}

void Builder::AddTransforms(LoaderParts& parts) {
  const Node target_transform = TakeOut(dataset_params_, "target_transform");
  if (!target_transform.is_null()) {
    problems_.push_back({.kind = "value",
                         .message = "there are no target transforms",
                         .where = {target_transform.mark()},
                         .hint = "transforms see the target too"});
  }
  const Node transforms = TakeOut(dataset_params_, "transforms");
  for (const ComponentSpec& spec :
       ReadComponents(transforms, "transform", problems_)) {
    parts.transforms.push_back(
        BuildPart<Transform>(components_.transforms, spec, "transform"));
    parts.transform_names.push_back(spec.name);
  }
}

LoaderOptions::OnBadSample Builder::ReadOnBadSample() {
  Node own = Node::Map();
  own.Set("on_bad_sample", TakeOut(dataset_params_, "on_bad_sample"));
  Params params(own, Prefix(split_) + "_dataset_params", problems_, "key");
  const bool skip =
      params.Text("on_bad_sample", "error", {"error", "skip"}) == "skip";
  return skip ? LoaderOptions::OnBadSample::kSkip
              : LoaderOptions::OnBadSample::kError;
}

LoaderOptions Builder::ReadOptions(Params& params, int64_t size) {
  LoaderOptions options = {.seed = world_.seed,
                           .rank = world_.rank,
                           .world_size = world_.world_size,
                           .evaluation = split_ != Split::kTrain};
  options.batch_size = params.Int("batch_size", {.fallback = 1, .min = 1});
  options.shuffle = params.Bool("shuffle", false);
  options.drop_last = params.Bool("drop_last", false);
  const int64_t workers =
      params.Int("num_workers", {.fallback = 0, .min = 0, .max = 4096});
  options.num_workers = static_cast<int>(std::min(workers, size));
  const int64_t factor =
      params.Int("prefetch_factor", {.fallback = 0, .min = 1, .max = 4096});
  if (factor > 0) options.prefetch = factor * std::max<int64_t>(workers, 1);
  return options;
}

std::unique_ptr<Collate> Builder::BuildCollate(Params& params) {
  const Node* value = params.Raw("collate_fn");
  if (value == nullptr) return nullptr;
  const std::optional<ComponentSpec> spec =
      ReadComponent(*value, "collate_fn", problems_);
  if (!spec) return nullptr;
  return BuildPart<Collate>(components_.collates, *spec, "collate_fn");
}

std::unique_ptr<Sampler> Builder::BuildSampler(Params& params, int64_t size) {
  const Node* value = params.Raw("sampler");
  const int64_t least = params.Int("min_samples", {.fallback = 0, .min = 0});
  if (value == nullptr) {
    if (least <= size || size == 0) return nullptr;
    return RepeatSampler(size, least, world_.seed);
  }
  if (params.Has("min_samples")) {
    params.Fail("min_samples",
                "\"min_samples\" and \"sampler\" exclude each "
                "other");
  }
  const std::optional<ComponentSpec> spec =
      ReadComponent(*value, "sampler", problems_);
  if (!spec) return nullptr;
  return BuildPart<Sampler>(components_.samplers, *spec, "sampler", size);
}

void Builder::IgnoreProcessKeys(Params& params) {
  for (const char* key :
       {"dataset", "worker_init_fn", "persistent_workers", "timeout",
        "multiprocessing_context", "auto_wrap_sampler_when_ddp"}) {
    params.Ignore(key);
  }
  if (params.Bool("pin_memory", false)) {
    params.Fail("pin_memory",
                "\"pin_memory\" has no effect: batches are not pinned");
    problems_.back().severity = Severity::kNote;
  }
}

void Builder::CheckHasBatches(const Loader& loader) {
  if (loader.size() > 0) return;
  const int64_t samples = loader.dataset().size();
  const std::string owner = absl::StrCat("data set \"", name_, "\"");
  if (samples == 0) {
    problems_.push_back({.kind = "data", .message = owner + " has no samples"});
    return;
  }
  const Node* batch_size = loader_params_.Find("batch_size");
  problems_.push_back(
      {.kind = "data",
       .message = owner + " has no batch",
       .detail = absl::StrCat("found ", samples,
                              " samples, expected a batch_size of ",
                              loader.options().batch_size, " for each of ",
                              world_.world_size, " ranks, as drop_last is set"),
       .where = {batch_size ? batch_size->mark() : Mark()},
       .hint = "lower batch_size, or set drop_last to False"});
}

}  // namespace

bool NamesLoader(const Node& recipe, Split split) {
  return NameOf(recipe, split) != nullptr;
}

std::unique_ptr<Loader> BuildLoader(const Node& recipe, Split split,
                                    const Components& components,
                                    const LoaderWorld& world,
                                    Problems& problems) {
  Builder builder(recipe, split, components, world);
  std::unique_ptr<Loader> loader = builder.Build();
  Problems found = builder.TakeProblems();
  if (HasErrors(found)) loader = nullptr;
  std::move(found.begin(), found.end(), std::back_inserter(problems));
  return loader;
}

}  // namespace slipway::data
