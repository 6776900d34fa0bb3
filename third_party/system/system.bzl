"""@system: C++ libraries of the machine, found through pkg-config."""

_TARGET = """
cc_library(
    name = "{name}",
    hdrs = glob([folder + "/**" for folder in {includes}]),
    defines = {defines},
    includes = {includes},
    linkopts = {linkopts},
)
"""

def _system_repository_impl(rctx):
    pkg_config = rctx.which("pkg-config")
    if not pkg_config:
        fail("pkg-config is not on the PATH; ./bazelw installs it")
    build = ['package(default_visibility = ["//visibility:public"])\n']
    missing = []
    for name, package, modules in _table(rctx):
        found = rctx.execute([pkg_config, "--cflags", "--libs"] + modules)
        if found.return_code:
            missing.append(package)
        else:
            build.append(_target(rctx, name, _words(found.stdout)))
    if missing:
        fail("the machine lacks libraries; ./bazelw installs them, or: " +
             "apt-get install " + " ".join(missing))
    rctx.file("BUILD", "".join(build))

def _table(rctx):
    """The rows of libraries.txt as (target, package, modules)."""
    lines = rctx.read(rctx.attr._libraries).split("\n")
    rows = [_words(line) for line in lines if line and line[0] != "#"]
    return [(row[0], row[1], row[2:]) for row in rows]

def _words(text):
    return [word for word in text.strip().split(" ") if word]

def _target(rctx, name, flags):
    # Compilers search /usr/include by themselves, and in the right order.
    folders = [
        flag[2:]
        for flag in flags
        if flag.startswith("-I") and flag != "-I/usr/include"
    ]
    includes = []
    for number, folder in enumerate(folders):
        includes.append("{}/include{}".format(name, number))
        rctx.symlink(folder, includes[-1])
    return _TARGET.format(
        name = name,
        defines = repr([flag[2:] for flag in flags if flag.startswith("-D")]),
        includes = repr(includes),
        linkopts = repr([
            flag
            for flag in flags
            if not flag.startswith("-I") and not flag.startswith("-D")
        ]),
    )

system_repository = repository_rule(
    implementation = _system_repository_impl,
    attrs = {
        "_libraries": attr.label(default = "//third_party/system:libraries.txt"),
    },
    environ = ["PATH", "PKG_CONFIG_PATH"],
    # Asked again by each Bazel server: packages come and go without telling.
    local = True,
)
