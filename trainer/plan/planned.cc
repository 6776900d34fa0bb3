#include "trainer/plan/planned.h"

#include <string_view>

namespace slipway::plan {

std::string_view Name(OnError on_error) {
  switch (on_error) {
    case OnError::kFail:
      return "fail";
    case OnError::kWarn:
      return "warn";
    case OnError::kDisable:
      break;
  }
  return "disable";
}

std::string_view Name(Because because) {
  switch (because) {
    case Because::kRecipe:
      return "recipe";
    case Because::kRecipeKey:
      return "recipe_key";
    case Because::kRequires:
      return "requires";
    case Because::kComponent:
      break;
  }
  return "component";
}

const PlannedPlugin* Plan::Find(std::string_view id) const {
  for (const PlannedPlugin& plugin : plugins) {
    if (plugin.id == id) return &plugin;
  }
  return nullptr;
}

}  // namespace slipway::plan
