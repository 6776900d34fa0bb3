"""One copy of the core for a whole process: libslipway_core.so.

    shared_core(
        name = "core",
        libraries = ["//trainer/recipe:node", ...],
    )

defines three targets:

    core            what programs and tests of plugins link: the shared library,
                    LibTorch, and the headers of all `libraries`
    core_interface  the headers alone, and the flags of foreign libraries
    core_by_name    what plugins link: the shared library by its SONAME, without
                    a path to it, since the program has it already

A program must not link `libraries` themselves beside it: that would be a second
core, with its own type information and its own state.
"""

load("//third_party/bazel:cc.bzl", "slipway_cc_binary")

def _flags_only(linker_input):
    return cc_common.create_linker_input(
        owner = linker_input.owner,
        user_link_flags = depset(linker_input.user_link_flags),
    )

def _interface_impl(ctx):
    merged = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    inputs = merged.linking_context.linker_inputs.to_list()
    flags = [_flags_only(entry) for entry in inputs if entry.user_link_flags]
    libraries = ctx.files.libraries
    if libraries:
        flags.append(cc_common.create_linker_input(
            owner = ctx.label,
            user_link_flags = depset([file.path for file in libraries]),
            additional_inputs = depset(libraries),
        ))
    return [CcInfo(
        compilation_context = merged.compilation_context,
        linking_context = cc_common.create_linking_context(
            linker_inputs = depset(flags, order = "topological"),
        ),
    )]

# The headers and linker flags of `deps` without their objects. `libraries` are
# shared ones to name on the link line, as files: without an rpath.
interface = rule(
    implementation = _interface_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "libraries": attr.label_list(allow_files = [".so"]),
    },
)

def shared_core(name, libraries, visibility = ["//visibility:public"]):
    """Defines the shared library of the core and its three faces.

    Args:
      name: of the target that programs link; the library is libslipway_<name>.so.
      libraries: every library of the core.
      visibility: of all of them.
    """
    library = "libslipway_{}.so".format(name)
    slipway_cc_binary(
        name = library,
        linkopts = [
            "-Wl,-soname," + library,
            "-Wl,-z,defs",
            "-Wl,--as-needed",
        ],
        linkshared = True,
        visibility = visibility,
        deps = libraries + ["@libtorch//:by_name"],
    )
    interface(
        name = name + "_interface",
        visibility = visibility,
        deps = libraries,
    )
    interface(
        name = name + "_by_name",
        libraries = [library],
        visibility = visibility,
        deps = libraries + ["@libtorch//:by_name"],
    )
    native.cc_library(
        name = name,
        srcs = [library],
        visibility = visibility,
        deps = [
            name + "_interface",
            "@libtorch",
        ],
    )

def _headers_hash_impl(ctx):
    headers = ctx.files.hdrs + [
        header
        for dep in ctx.attr.deps
        for header in dep[CcInfo].compilation_context.direct_headers
    ]
    ctx.actions.run_shell(
        inputs = headers,
        outputs = [ctx.outputs.out],
        arguments = [ctx.outputs.out.path] + [header.path for header in headers],
        command = "out=$1; shift; hash=$(cat \"$@\" | sha256sum | cut -c 1-16); " +
                  "echo \"#define SLIPWAY_HEADERS_HASH \\\"$hash\\\"\" > \"$out\"",
    )

# A header that defines SLIPWAY_HEADERS_HASH: of `hdrs`, and of the own headers
# of `deps`.
headers_hash = rule(
    implementation = _headers_hash_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "hdrs": attr.label_list(allow_files = [".h"]),
        "out": attr.output(mandatory = True),
    },
)
