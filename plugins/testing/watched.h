// A plugin around a plugin: passes every call on and shows it to a watcher.
//
//   struct Counter : Watcher {
//     void After(Hook hook, const Seen&) override { ++calls[hook]; }
//     std::map<Hook, int> calls;
//   } counter;
//   running.plugin = Watch(std::move(running.plugin), counter);
#ifndef SLIPWAY_PLUGINS_TESTING_WATCHED_H_
#define SLIPWAY_PLUGINS_TESTING_WATCHED_H_

#include "trainer/data/dataset.h"
#include "trainer/plugin/hook.h"
#include "trainer/plugin/hook_runner.h"

namespace slipway::testing {

// What a hook could reach, and whether its context lets it write there.
struct Seen {
  // Null where the hook sees no batch.
  const data::Batch* batch = nullptr;
  bool may_write_model = false;
  bool may_write_gradients = false;
  bool may_write_batch = false;
};

class Watcher {
 public:
  virtual ~Watcher() = default;
  // Around each hook; around OnFailure and Close, too, which see nothing.
  virtual void Before(Hook hook, const Seen& seen) {}
  virtual void After(Hook hook, const Seen& seen) {}
};

// `plugin`, with `watcher` (borrowed) told of every call. Exceptions pass, and
// then After is not called.
PluginPointer Watch(PluginPointer plugin, Watcher& watcher);

// A plugin with nothing but the watcher, which is called at every hook.
PluginPointer Spy(Watcher& watcher);

}  // namespace slipway::testing

#endif  // SLIPWAY_PLUGINS_TESTING_WATCHED_H_
