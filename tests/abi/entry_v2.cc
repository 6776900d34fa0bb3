// A plugin for a trainer that is yet to come.
extern "C" const void* slipway_plugin_entry_v2() { return nullptr; }
