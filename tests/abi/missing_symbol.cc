// A plugin that needs what this trainer's core does not have.
namespace slipway {
int FromTheNextVersion(int value);
}  // namespace slipway

extern "C" const void* slipway_plugin_entry_v1() {
  static const int number = slipway::FromTheNextVersion(1);
  return &number;
}
