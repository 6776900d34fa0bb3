// Real libraries, loaded from plans as the trainer loads them.
#include "trainer/plugin/load_plugins.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/golden/golden.h"
#include "trainer/plugin/abi.h"
#include "trainer/plugin/exception.h"
#include "trainer/plugin/training_state.h"

namespace slipway {
namespace {

using plan::Manifest;
using plan::PlannedPlugin;
using ::testing::ElementsAre;

constexpr char kFlat[] = "components: {schedules: [Flat]}";

std::string Folder() { return std::filesystem::absolute("tests/abi").string(); }

Manifest ManifestOf(const std::string& id, const std::string& more = kFlat,
                    const std::string& version = "1.0.0") {
  Problems problems;
  const std::optional<Manifest> manifest = plan::ParseManifest(
      absl::StrCat("schema: 1\nid: ", id, "\nversion: ", version,
                   "\napi: \"^1.0\"\nlibrary: lib", id,
                   ".so\nsummary: for tests\nlicense: Apache-2.0\n"
                   "status: stable\nhooks: [FitBegin]\nconfig: {}\n",
                   more, "\n"),
      "plugins/test/plugin.yaml", problems);
  EXPECT_TRUE(manifest) << FormatProblems(problems);
  return *manifest;
}

// A plan of any number of plugins, with their manifests.
struct World {
  std::vector<Manifest> manifests;
  plan::Plan plan;
  Components components;
  Problems problems;

  PlannedPlugin& Add(const Manifest& manifest, const std::string& library,
                     const std::string& at = "", const std::string& how = "") {
    manifests.push_back(manifest);
    PlannedPlugin planned;
    planned.id = manifest.id;
    planned.version = manifest.version;
    planned.library = library;
    planned.config = recipe::Node::Map();
    planned.config.Set("at", recipe::Node::String(at));
    planned.config.Set("how", recipe::Node::String(how));
    planned.where = {"recipe.yaml", static_cast<int>(manifests.size()), 3};
    plan.plugins.push_back(planned);
    return plan.plugins.back();
  }

  // The plugin of misbehaving.cc.
  PlannedPlugin& AddMisbehaving(const std::string& at = "",
                                const std::string& how = "",
                                const std::string& id = "misbehaving") {
    return Add(ManifestOf(id), absl::StrCat(Folder(), "/lib", id, ".so"), at,
               how);
  }

  std::vector<RunningPlugin> Load() {
    return LoadPlugins(plan, manifests, components, problems);
  }
};

// Messages with the parts that depend on the machine replaced.
std::string Normalised(std::string text) {
  const SlipwayAbiTag abi = TrainerAbi();
  text = absl::StrReplaceAll(
      text,
      {{Folder(), "$FOLDER"},
       {testing::TempDir(), "$TMP/"},
       {absl::StrCat("trainer ", abi.abseil_namespace), "trainer $NAMESPACE"},
       {absl::StrCat("trainer GCC ", abi.compiler_major), "trainer GCC $N"}});
  return std::regex_replace(text, std::regex("plugin GCC [0-9]+"),
                            "plugin GCC $$M");
}

std::string FileOf(const std::string& name, const std::string& content) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << content;
  return path;
}

struct Case {
  const char* title;
  std::function<void(World&)> prepare;
};

// A library with the name `library` beside this test.
Case Library(const char* title, const std::string& library) {
  return {title, [=](World& world) {
            world.Add(ManifestOf("odd"), Folder() + "/" + library);
          }};
}

Case Misbehaving(const char* title, const char* at, const char* how) {
  return {title, [=](World& world) { world.AddMisbehaving(at, how); }};
}

Case OtherManifest(const char* title, const Manifest& manifest) {
  return {title, [=](World& world) {
            world.Add(manifest, Folder() + "/libmisbehaving.so");
          }};
}

std::vector<Case> FileCases() {
  return {
      Library("a library that is not there", "libnowhere.so"),
      {"a text file",
       [](World& world) {
         world.Add(ManifestOf("odd"), FileOf("text.so", std::string(100, 'x')));
       }},
      {"an empty file",
       [](World& world) {
         world.Add(ManifestOf("odd"), FileOf("empty.so", ""));
       }},
      Library("a library that is no plugin", "libno_entry.so"),
      Library("a plugin for the next API", "libentry_v2.so"),
      Library("a plugin that needs a newer core", "libmissing_symbol.so"),
  };
}

std::vector<Case> ManifestCases() {
  return {
      OtherManifest("another id", ManifestOf("well_behaved")),
      OtherManifest("another version",
                    ManifestOf("misbehaving", kFlat, "1.0.1")),
      OtherManifest("another id and version",
                    ManifestOf("well_behaved", kFlat, "2.0.0")),
      OtherManifest(
          "components of one kind",
          ManifestOf("misbehaving", "components: {schedules: [Steep, Round]}")),
      OtherManifest("components of another kind",
                    ManifestOf("misbehaving", "components: {losses: [Flat]}")),
      {"a planned plugin",
       [](World& world) {
         world.AddMisbehaving().status = plan::Status::kPlanned;
       }},
      {"two plugins with one component",
       [](World& world) {
         world.AddMisbehaving();
         world.AddMisbehaving("", "", "twin");
       }},
      {"a component of the trainer's own",
       [](World& world) {
         world.AddMisbehaving();
         world.components.schedules.Add("Flat", nullptr);
       }},
  };
}

std::vector<Case> CreateCases() {
  return {
      Misbehaving("create throws a standard exception", "Create", "standard"),
      Misbehaving("create throws LibTorch's error", "Create", "libtorch"),
      Misbehaving("create throws an int", "Create", "int"),
      Misbehaving("create returns an error", "Create", "error"),
      Misbehaving("create refuses its configuration", "Create", "refuse"),
      Misbehaving("create returns null", "Nothing", ""),
      Misbehaving("register throws", "Register", "standard"),
      {"everything at once",
       [](World& world) {
         world.AddMisbehaving("Create", "int");
         world.AddMisbehaving("", "", "twin");
         world.Add(ManifestOf("odd"), Folder() + "/libno_entry.so");
         world.Add(ManifestOf("absent"), Folder() + "/libabsent.so");
         world.AddMisbehaving().status = plan::Status::kPlanned;
       }},
  };
}

// Loads each case by itself and collects what it says.
std::string MessagesOf(const std::vector<Case>& cases) {
  std::string text;
  for (const Case& test : cases) {
    World world;
    test.prepare(world);
    EXPECT_TRUE(world.Load().empty()) << test.title;
    EXPECT_TRUE(HasErrors(world.problems)) << test.title;
    absl::StrAppend(&text, "## ", test.title, "\n",
                    Normalised(FormatProblems(world.problems)), "\n");
  }
  return text;
}

TEST(LoadPlugins, TellsWhatIsWrongWithALibrary) {
  ExpectGolden("tests/abi/libraries.golden", MessagesOf(FileCases()));
}

TEST(LoadPlugins, TellsWhereManifestAndLibraryDisagree) {
  ExpectGolden("tests/abi/manifests.golden", MessagesOf(ManifestCases()));
}

TEST(LoadPlugins, TellsWhyAPluginCannotBeCreated) {
  ExpectGolden("tests/abi/create.golden", MessagesOf(CreateCases()));
}

TEST(LoadPlugins, TellsWhatIsWrongWithADescriptor) {
  std::string text;
  for (const char* oddity :
       {"null", "magic", "short", "null_abi", "null_create", "throws",
        "other_libtorch", "other_abseil", "other_abi", "newer_compiler",
        "older_compiler", "next_api"}) {
    setenv("SLIPWAY_TEST_ODDITY", oddity, 1);
    World world;
    world.Add(ManifestOf("odd"), Folder() + "/libodd.so");
    EXPECT_TRUE(world.Load().empty()) << oddity;
    absl::StrAppend(&text, "## ", oddity, "\n",
                    Normalised(FormatProblems(world.problems)), "\n");
  }
  ExpectGolden("tests/abi/descriptors.golden", text);
}

TEST(LoadPlugins, LeavesComponentsAloneAfterAnError) {
  World world;
  world.AddMisbehaving();
  world.AddMisbehaving("Create", "int", "twin");
  EXPECT_TRUE(world.Load().empty());
  EXPECT_THAT(world.components.schedules.names(), ElementsAre());
}

TEST(LoadPlugins, GivesPluginsAndTheirComponents) {
  World world;
  PlannedPlugin& planned = world.AddMisbehaving();
  planned.on_error = plan::OnError::kWarn;
  const std::vector<RunningPlugin> plugins = world.Load();
  EXPECT_EQ(FormatProblems(world.problems), "");
  ASSERT_EQ(plugins.size(), 1);
  EXPECT_EQ(plugins[0].id, "misbehaving");
  EXPECT_EQ(plugins[0].on_error, plan::OnError::kWarn);
  EXPECT_EQ(plugins[0].where, planned.where);
  EXPECT_THAT(world.components.schedules.names(), ElementsAre("Flat"));
  const recipe::Node nothing;
  const BuildArgs args = {nothing, nothing, world.components, world.problems};
  const auto flat = (*world.components.schedules.Find("flat"))(args);
  EXPECT_EQ(flat->Rate(0.5, {}), 0.5);
}

TEST(LoadPlugins, TakesWhatWasResolved) {
  World world;
  world.manifests = plan::DiscoverManifests({Folder()}, world.problems);
  recipe::Node config = recipe::Node::Map();
  config.Set("at", recipe::Node::String("FitEnd"));
  recipe::Node recipe = recipe::Node::Map();
  recipe.Set("plugins", recipe::Node::Map())
      .Set("misbehaving", std::move(config));
  std::optional<plan::Plan> plan = plan::ResolvePlan(
      world.manifests, recipe, plan::Environment(), world.problems);
  ASSERT_TRUE(plan) << FormatProblems(world.problems);
  world.plan = *std::move(plan);
  HookRunner hooks(world.Load(), world.plan.order);
  EXPECT_EQ(FormatProblems(world.problems), "");
  TrainingState state;
  FitContext context(state);
  EXPECT_TRUE(hooks.Run<Hook::kFitBegin>(context).ok());
  EXPECT_EQ(hooks.Run<Hook::kFitEnd>(context).message(),
            "plugin \"misbehaving\" failed in FitEnd at step 0 on rank 0: "
            "out of rope");
}

TEST(LoadPlugins, TakesTheStatesVersionFromTheManifest) {
  World world;
  world.Add(ManifestOf("misbehaving",
                       absl::StrCat(kFlat, "\nstate: {key: m, version: 4}")),
            Folder() + "/libmisbehaving.so");
  const std::vector<RunningPlugin> plugins = world.Load();
  ASSERT_EQ(plugins.size(), 1) << FormatProblems(world.problems);
  EXPECT_EQ(plugins[0].state_version, 4);
}

TEST(LoadPlugins, SharesOneCoreWithThem) {
  for (const char* id : {"misbehaving", "twin"}) {
    World world;
    world.AddMisbehaving("", "", id);
    const std::vector<RunningPlugin> plugins = world.Load();
    ASSERT_EQ(plugins.size(), 1);
    EXPECT_EQ(plugins[0].plugin->Query("test.core_address/1"),
              reinterpret_cast<const void*>(&CurrentExceptionStatus));
    EXPECT_EQ(plugins[0].plugin->Query("test.core_address/2"), nullptr);
  }
}

TEST(LoadPlugins, NeverClosesALibrary) {
  const std::string path = Folder() + "/libmisbehaving.so";
  World world;
  world.AddMisbehaving();
  world.Load().clear();
  dlclose(dlopen(path.c_str(), RTLD_LAZY));
  EXPECT_NE(dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD), nullptr);
}

// --- every hook of a real library, behind the wall ---------------------------

// `f(hook as a constant)` for every hook that has a context.
template <typename Function, size_t... i>
void ForEachHook(const Function& f, std::index_sequence<i...>) {
  (f(std::integral_constant<Hook, static_cast<Hook>(i)>()), ...);
}

template <typename C>
absl::Status RunWith(absl::Status (Plugin::*)(C&), auto hook,
                     HookRunner& hooks) {
  TrainingState state;
  C context(state);
  return hooks.Run<decltype(hook)::value>(context);
}

class ThrowingHook
    : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(ThrowingHook, EndsAsAStatusThatNamesIt) {
  const auto& [how, detail] = GetParam();
  const auto check = [&](auto hook) {
    const std::string name(ToString(hook));
    World world;
    world.AddMisbehaving(name, how);
    HookRunner hooks(world.Load(), {{name, {"misbehaving"}}});
    EXPECT_EQ(RunWith(kHookMethod<hook>, hook, hooks).message(),
              absl::StrCat("plugin \"misbehaving\" failed in ", name,
                           " at step 0 on rank 0: ", detail));
  };
  ForEachHook(check, std::make_index_sequence<kHookCount - 2>());
}

INSTANTIATE_TEST_SUITE_P(
    All, ThrowingHook,
    testing::Values(std::pair("standard", "std::runtime_error: out of rope"),
                    std::pair("libtorch", "out of rope"),
                    std::pair("int", "threw a value of type int"),
                    std::pair("error", "out of rope")),
    [](const auto& info) { return info.param.first; });

TEST(ThrowingLibrary, StillCloses) {
  for (const char* hook : {"OnFailure", "Close"}) {
    World world;
    world.AddMisbehaving(hook, "libtorch");
    HookRunner hooks(world.Load(), {});
    TrainingState state;
    Problems reported;
    state.report = [&](Problem problem) { reported.push_back(problem); };
    StepContext context(state);
    hooks.OnFailure(context, absl::AbortedError("over"));
    hooks.Close(context);
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].hook, hook);
    EXPECT_EQ(reported[0].detail, "out of rope");
  }
}

}  // namespace
}  // namespace slipway
