"""What an installed prefix holds, as a list that install.py copies from.

    prefix_files(
        name = "files",
        programs = ["//trainer"],
        ...
    )

is a text of lines `DESTINATION<tab>SOURCE`, the source being a path in the
runfiles, with all those files as its runfiles. A destination `@NAME` is one of
`inputs`, which install.py reads.
"""

def _headers(ctx):
    """Of this repository, with what is generated: no foreign library's."""
    files = {}
    for dep in ctx.attr.headers:
        for file in dep[CcInfo].compilation_context.headers.to_list():
            if file.owner.workspace_name == ctx.label.workspace_name:
                files[file.short_path] = file
    return [("include/slipway/" + path, files[path]) for path in sorted(files)]

def _below(file, folder):
    path = file.short_path
    return path[len(folder) + 1:] if folder else path

def _plugins(ctx):
    return [
        ("lib/slipway/plugins/" + _below(file, "plugins"), file)
        for plugin in ctx.attr.plugins
        for file in plugin[DefaultInfo].files.to_list()
    ]

def _trees(ctx):
    return [
        (place + "/" + _below(file, target.label.package), file)
        for target, place in ctx.attr.trees.items()
        for file in target[DefaultInfo].files.to_list()
    ]

def _prefix_files_impl(ctx):
    entries = [("bin/" + file.basename, file) for file in ctx.files.programs]
    entries += [("lib/" + file.basename, file) for file in ctx.files.libraries]
    entries += _headers(ctx) + _plugins(ctx) + _trees(ctx)
    entries += [
        ("@" + name, target[DefaultInfo].files.to_list()[0])
        for target, name in ctx.attr.inputs.items()
    ]
    listing = ctx.actions.declare_file(ctx.label.name + ".txt")
    ctx.actions.write(listing, "".join([
        "{}\t{}\n".format(place, file.short_path)
        for place, file in entries
    ]))
    files = [listing] + [file for _, file in entries]
    return [DefaultInfo(
        files = depset([listing]),
        runfiles = ctx.runfiles(files = files),
    )]

prefix_files = rule(
    implementation = _prefix_files_impl,
    attrs = {
        # Libraries whose headers plugins include, with those they include.
        "headers": attr.label_list(providers = [CcInfo]),
        "inputs": attr.label_keyed_string_dict(allow_files = True),
        # Shared libraries, to lib/.
        "libraries": attr.label_list(allow_files = [".so"]),
        # Targets of trainer_plugin(), to lib/slipway/plugins/.
        "plugins": attr.label_list(),
        # Executables, to bin/.
        "programs": attr.label_list(cfg = "target"),
        # Targets with files, which lie below the given folder as they do below
        # their package.
        "trees": attr.label_keyed_string_dict(allow_files = True),
    },
)
