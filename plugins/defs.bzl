"""How a plugin is built: one library beside its manifest.

    load("//plugins:defs.bzl", "trainer_plugin")

    trainer_plugin(
        name = "ema",
        srcs = ["ema.cc"],
        hdrs = ["ema.h"],
    )

    slipway_cc_test(
        name = "ema_test",
        srcs = ["ema_test.cc"],
        deps = [":ema_lib"],
    )

The same in a workspace of its own, with "@slipway//plugins:defs.bzl".
"""

# The plugins that come with the trainer.
PLUGINS = [
    "//plugins/amp",
    "//plugins/compile",
    "//plugins/ema",
    "//plugins/lr_warmup",
    "//plugins/optim",
    "//plugins/syncbn",
]

# One symbol leaves a plugin; everything else stays its own.
_VERSION_SCRIPT = Label("//plugins:plugin.lds")
_CORE = Label("//trainer:core")
_CORE_BY_NAME = Label("//trainer:core_by_name")
_CORE_INTERFACE = Label("//trainer:core_interface")

_COPTS = [
    "-std=c++20",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
]

def trainer_plugin(
        name,
        srcs,
        hdrs = [],
        deps = [],
        manifest = "plugin.yaml",
        id = None,
        copts = [],
        linkopts = [],
        visibility = ["//visibility:public"],
        **kwargs):
    """A plugin of the trainer.

    `name` is a folder's worth of files, lib<id>.so and plugin.yaml: what goes
    into a program's `data`, or lies under bazel-bin for --plugin_path.
    `<name>_lib` is the same code as a static library, for tests of its classes.

    Args:
      name: the target, by custom the folder's name.
      srcs: sources; one of them says SLIPWAY_PLUGIN(...).
      hdrs: headers, for tests.
      deps: libraries besides the core and LibTorch, which come by themselves.
      manifest: the manifest.
      id: the plugin's id where it is not `name`.
      copts: compiler flags besides the house's.
      linkopts: linker flags besides the house's.
      visibility: of all targets.
      **kwargs: for all targets: tags, testonly, ...
    """
    library = "lib{}.so".format((id or name).replace(".", "_"))
    native.cc_library(
        name = name + "_objects",
        srcs = srcs,
        hdrs = hdrs,
        copts = _COPTS + copts,
        visibility = ["//visibility:private"],
        deps = deps + [_CORE_INTERFACE],
        alwayslink = True,
        # Hidden symbols would leave a shared library of its own empty.
        linkstatic = True,
        **kwargs
    )
    native.cc_library(
        name = name + "_lib",
        visibility = visibility,
        deps = [name + "_objects", _CORE],
        **kwargs
    )
    native.cc_binary(
        name = library,
        additional_linker_inputs = [_VERSION_SCRIPT],
        linkopts = [
            "-Wl,--as-needed",
            "-Wl,-z,defs",
            "-Wl,--unresolved-symbols=ignore-in-shared-libs",
            "-Wl,--version-script=$(location {})".format(_VERSION_SCRIPT),
        ] + linkopts,
        linkshared = True,
        visibility = visibility,
        deps = [name + "_objects", _CORE_BY_NAME],
        **kwargs
    )
    _plugin_folder(
        name = name,
        library = library,
        manifest = manifest,
        visibility = visibility,
        **kwargs
    )

def planned_plugin(name, manifest = "plugin.yaml", visibility = ["//visibility:public"]):
    """A plugin of which there is only the manifest, with `status: planned`.

    Args:
      name: the target, by custom the folder's name.
      manifest: the manifest.
      visibility: as usual.
    """
    _plugin_folder(
        name = name,
        manifest = manifest,
        visibility = visibility,
    )

def _plugin_folder_impl(ctx):
    # Beside the library under bazel-bin too, whatever its name is here.
    manifest = ctx.actions.declare_file("plugin.yaml")
    ctx.actions.symlink(output = manifest, target_file = ctx.file.manifest)
    files = [manifest] + ctx.files.library
    return [DefaultInfo(
        files = depset(files),
        runfiles = ctx.runfiles(files = files),
    )]

_plugin_folder = rule(
    implementation = _plugin_folder_impl,
    attrs = {
        "library": attr.label(allow_single_file = [".so"]),
        "manifest": attr.label(mandatory = True, allow_single_file = [".yaml"]),
    },
)
