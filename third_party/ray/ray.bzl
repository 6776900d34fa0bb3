"""@ray: Ray's C++ API and the programs of a cluster, from PyPI's wheels."""

load("//third_party/pypi:pypi.bzl", "FETCH_ENVIRON", "fetch_wheels")

_HOME_HEADER = """\
#pragma once

// A folder for PYTHONPATH from which `python3 -m ray.scripts.scripts start`
// starts a cluster.
inline constexpr char kRayHome[] = "{home}";
// Ray's version in it.
inline constexpr char kRayVersion[] = "{version}";
"""

_VERSION = "2.60.0"

def _ray_repository_impl(rctx):
    home = rctx.path(fetch_wheels(
        rctx,
        name = "ray",
        fetcher = rctx.attr._fetcher,
        requirements = rctx.attr._requirements,
        keep = ["*"],
        megabytes = 99,
        advice = "Only //launcher/ray_driver needs it: the rest builds without it.",
    ))
    cpp = home.get_child("ray").get_child("cpp")
    rctx.symlink(cpp.get_child("include"), "include")
    rctx.file("home/ray_home.h", _HOME_HEADER.format(home = home, version = _VERSION))
    rctx.template("BUILD", rctx.attr._build_file, {
        "%{lib}": str(cpp.get_child("lib")),
    })

# Bazel fetches it when a target that is built needs it, and not before.
ray_repository = repository_rule(
    implementation = _ray_repository_impl,
    attrs = {
        "_build_file": attr.label(default = "//third_party/ray:ray.BUILD"),
        "_fetcher": attr.label(default = "//third_party/pypi:fetch.py"),
        "_requirements": attr.label(default = "//third_party/ray:requirements.txt"),
    },
    environ = FETCH_ENVIRON,
)
