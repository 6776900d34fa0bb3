"""cc_library, cc_binary and cc_test with the flags of this project's own code."""

WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    # Context parameters that a default hook ignores.
    "-Wno-unused-parameter",
]

def slipway_cc_library(name, copts = [], **kwargs):
    """A library of our own code.

    Args:
      name: the target's name.
      copts: further compiler flags.
      **kwargs: as for cc_library.
    """

    # alwayslink: libslipway_core.so must export the whole of each library.
    native.cc_library(
        name = name,
        copts = WARNINGS + copts,
        alwayslink = True,
        **kwargs
    )

def slipway_cc_binary(name, copts = [], **kwargs):
    """A program (or, with linkshared, a shared library) of our own code."""
    native.cc_binary(
        name = name,
        copts = WARNINGS + copts,
        **kwargs
    )

def slipway_cc_test(name, copts = [], deps = [], size = "small", **kwargs):
    """A GoogleTest program; main() comes with @system//:gtest_main."""
    native.cc_test(
        name = name,
        size = size,
        copts = WARNINGS + copts,
        deps = deps + ["@system//:gtest_main"],
        **kwargs
    )
