"""C++ libraries of the machine, asked from pkg-config (Debian, Fedora, conda, ...)."""

_MODULES = {
    "absl": ["absl_status", "absl_statusor", "absl_strings", "absl_str_format", "absl_flat_hash_map", "absl_synchronization", "absl_time", "absl_cleanup", "absl_span", "absl_inlined_vector"],
    "benchmark": ["benchmark"],
    "gflags": ["gflags"],
    "glog": ["libglog", "gflags"],
    "gtest": ["gmock", "gtest"],
    "gtest_main": ["gmock_main", "gmock", "gtest"],
    "hwloc": ["hwloc"],
    "jpeg": ["libjpeg"],
    "nlohmann_json": ["nlohmann_json"],
    "openssl": ["libcrypto"],
    "png": ["libpng"],
    "tbb": ["tbb"],
    "yaml_cpp": ["yaml-cpp"],
}

def _system_libraries_impl(rctx):
    pkg_config = rctx.which("pkg-config")
    if not pkg_config:
        fail("pkg-config is missing: run ./bazelw, which installs what is needed")
    missing = []
    text = ['package(default_visibility = ["//visibility:public"])']
    dirs = []
    for name, modules in _MODULES.items():
        cflags = rctx.execute([pkg_config, "--cflags"] + modules)
        libs = rctx.execute([pkg_config, "--libs"] + modules)
        if cflags.return_code or libs.return_code:
            missing.append(name)
            continue
        includes = []
        defines = []
        for flag in cflags.stdout.strip().split(" "):
            if flag.startswith("-I") and flag not in ("-I/usr/include",):
                d = flag[2:]
                if d not in dirs:
                    rctx.symlink(d, "include{}".format(len(dirs)))
                    dirs.append(d)
                includes.append("include{}".format(dirs.index(d)))
            elif flag.startswith("-D"):
                defines.append(flag[2:])
        linkopts = [f for f in libs.stdout.strip().split(" ") if f]
        text.append("""cc_library(
    name = "{}",
    hdrs = glob([i + "/**" for i in {}]),
    defines = {},
    includes = {},
    linkopts = {},
)""".format(name, repr(includes), repr(defines), repr(includes), repr(linkopts)))
    if missing:
        fail("C++ libraries missing: {}. Run ./bazelw, or: apt-get install ".format(", ".join(missing)) +
             "pkg-config libabsl-dev libgflags-dev libgoogle-glog-dev libgmock-dev libhwloc-dev libtbb-dev libyaml-cpp-dev")
    rctx.file("BUILD", "\n\n".join(text) + "\n")

system_libraries = repository_rule(
    implementation = _system_libraries_impl,
    environ = ["PKG_CONFIG_PATH", "PATH"],
    local = True,
)
