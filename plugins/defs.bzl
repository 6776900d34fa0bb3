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

load("//third_party/bazel:cc.bzl", "slipway_cc_library")

# The plugins that come with the trainer.
PLUGINS = [
    "//plugins/amp",
    "//plugins/compile",
    "//plugins/ema",
    "//plugins/lr_warmup",
    "//plugins/optim",
    "//plugins/syncbn",
    "//plugins/vision_classification",
]

# One symbol leaves a plugin; everything else stays its own.
_VERSION_SCRIPT = Label("//plugins:plugin.lds")
_CORE = Label("//trainer:core")
_CORE_BY_NAME = Label("//trainer:core_by_name")
_CORE_INTERFACE = Label("//trainer:core_interface")

_COPTS = [
    "-std=c++20",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
]

def _copts():
    # Warnings end the build in this repository, and are nobody else's business.
    inside = not _CORE.workspace_name and native.repository_name() == "@"
    return _COPTS if inside else _COPTS + ["-Wno-error"]

def trainer_plugin(
        name,
        srcs,
        hdrs = [],
        deps = [],
        manifest = "plugin.yaml",
        id = None,
        data = [],
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
      deps: libraries besides the core and LibTorch, which come by themselves;
        for code of your own in other packages, trainer_plugin_library().
      manifest: the manifest.
      id: the plugin's id where it is not `name`.
      data: files that lie beside the library, under their own names.
      copts: compiler flags besides the house's.
      linkopts: linker flags besides the house's.
      visibility: of all targets.
      **kwargs: for all targets: tags, testonly, ...
    """
    library = "lib{}.so".format((id or name).replace(".", "_"))
    slipway_cc_library(
        name = name + "_objects",
        srcs = srcs,
        hdrs = hdrs,
        copts = _copts() + copts,
        visibility = ["//visibility:private"],
        deps = deps + [_CORE_INTERFACE],
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
        data = data,
        library = library,
        manifest = manifest,
        visibility = visibility,
        **kwargs
    )

def trainer_plugin_library(name, copts = [], deps = [], **kwargs):
    """A part of a plugin in a package of its own: for deps of trainer_plugin().

    Tests of the part depend on it and on //trainer:core.

    Args:
      name: as in cc_library.
      copts: compiler flags besides the house's.
      deps: libraries besides the core and LibTorch, which come by themselves.
      **kwargs: as in cc_library.
    """
    slipway_cc_library(
        name = name,
        # Copies even of the standard library's templates stay the plugin's own.
        copts = _copts() + copts,
        deps = deps + [_CORE_INTERFACE],
        linkstatic = True,
        **kwargs
    )

def _link(ctx, file, path):
    link = ctx.actions.declare_file(path)
    ctx.actions.symlink(output = link, target_file = file)
    return link

def _plugin_folder_impl(ctx):
    # Beside the library under bazel-bin too, whatever its name is here.
    files = [_link(ctx, ctx.file.manifest, "plugin.yaml")] + ctx.files.library
    files += [_link(ctx, file, file.basename) for file in ctx.files.data]
    return [DefaultInfo(
        files = depset(files),
        runfiles = ctx.runfiles(files = files),
    )]

_plugin_folder = rule(
    implementation = _plugin_folder_impl,
    attrs = {
        "data": attr.label_list(allow_files = True),
        "library": attr.label(allow_single_file = [".so"]),
        "manifest": attr.label(mandatory = True, allow_single_file = [".yaml"]),
    },
)

def _one_folder_impl(ctx):
    folder = ctx.label.name + "/"
    files = [_link(ctx, file, folder + file.basename) for file in ctx.files.srcs]
    return [DefaultInfo(
        files = depset(files),
        runfiles = ctx.runfiles(files = files),
    )]

# A folder with the files of `srcs`, wherever they come from, as a plugin's data
# lies beside its library.
one_folder = rule(
    implementation = _one_folder_impl,
    attrs = {"srcs": attr.label_list(mandatory = True, allow_files = True)},
)
