"""The external repositories, the same for WORKSPACE and for Bzlmod."""

load("//third_party/libtorch:libtorch.bzl", "libtorch_repository")
load("//third_party/pypi:pypi.bzl", "pypi_repository")
load("//third_party/ray:ray.bzl", "ray_repository")
load("//third_party/system:system.bzl", "system_repository")

def slipway_libraries():
    """Defines what the product is built with: @libtorch, @ray and @system."""
    libtorch_repository(name = "libtorch")
    ray_repository(name = "ray")
    system_repository(name = "system")

def slipway_test_repositories():
    """Defines what only tests of this repository need."""
    pypi_repository(
        name = "clang_format",
        build_file = Label("//third_party/clang_format:clang_format.BUILD"),
        keep = ["clang_format/data/bin/clang-format"],
        megabytes = 2,
        requirements = Label("//third_party/clang_format:requirements.txt"),
        title = "clang-format",
    )
    pypi_repository(
        name = "super_gradients",
        build_file = Label("//third_party/super_gradients:super_gradients.BUILD"),
        keep = ["super_gradients/recipes/*.yaml"],
        megabytes = 12,
        requirements = Label("//third_party/super_gradients:requirements.txt"),
        title = "super-gradients",
    )
    pypi_repository(
        name = "tensorboard",
        build_file = Label("//third_party/tensorboard:tensorboard.BUILD"),
        keep = [
            "absl/*",
            "google/*",
            "numpy/*",
            "numpy.libs/*",
            "tensorboard/*.py",
        ],
        megabytes = 23,
        requirements = Label("//third_party/tensorboard:requirements.txt"),
        title = "tensorboard",
    )

def _stand_in_impl(rctx):
    for entry in rctx.path(rctx.attr.workspace).dirname.readdir():
        rctx.symlink(entry, entry.basename)

_stand_in = repository_rule(
    implementation = _stand_in_impl,
    attrs = {"workspace": attr.label(mandatory = True)},
)

def slipway_dependencies():
    """All that a WORKSPACE needs to build Slipway's libraries and plugins.

    The stand-ins replace what the tools built into Bazel would download, so
    that nothing does. A repository that the WORKSPACE defined before stays.
    """
    for name in ["remote_coverage_tools", "rules_cc", "rules_java"]:
        if not native.existing_rule(name):
            _stand_in(
                name = name,
                workspace = Label("//third_party/bazel/{}:WORKSPACE".format(name)),
            )
    slipway_libraries()
