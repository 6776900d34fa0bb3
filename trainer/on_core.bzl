"""Libraries for programs that link the shared core.

    on_core(
        name = "api",
        core = ":core",
        core_libraries = _CORE_LIBRARIES,
        deps = [":api_objects"],
    )

gives `deps` with everything they need, where what the core has comes from its
shared library alone: a second copy would be a second core.
"""

def _owner(linker_input):
    return str(linker_input.owner)

def _on_core_impl(ctx):
    merged = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    in_core = {
        _owner(entry): True
        for library in ctx.attr.core_libraries
        for entry in library[CcInfo].linking_context.linker_inputs.to_list()
    }
    own = [
        entry
        for entry in merged.linking_context.linker_inputs.to_list()
        if _owner(entry) not in in_core
    ]
    objects = CcInfo(
        compilation_context = merged.compilation_context,
        linking_context = cc_common.create_linking_context(
            linker_inputs = depset(own, order = "topological"),
        ),
    )
    return [
        ctx.attr.core[DefaultInfo],
        cc_common.merge_cc_infos(cc_infos = [objects, ctx.attr.core[CcInfo]]),
    ]

on_core = rule(
    implementation = _on_core_impl,
    attrs = {
        "core": attr.label(mandatory = True, providers = [CcInfo]),
        "core_libraries": attr.label_list(providers = [CcInfo]),
        "deps": attr.label_list(providers = [CcInfo]),
    },
)
