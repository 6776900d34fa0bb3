"""The rules for C++ of our own: cc_library and its kin with the house's flags.

    load("//third_party/bazel:cc.bzl", "slipway_cc_library", "slipway_cc_test")

    slipway_cc_library(
        name = "plan",
        srcs = ["plan.cc"],
        hdrs = ["plan.h"],
        deps = ["@system//:absl"],
    )

    slipway_cc_test(
        name = "plan_test",
        srcs = ["plan_test.cc"],
        deps = [":plan"],
    )
"""

# Labels, so that the rules mean the same in a repository that loads them.
_FUZZING = str(Label("//third_party/bazel:fuzzing"))
_REPLAY = Label("//third_party/bazel:replay")
_GTEST_MAIN = Label("@system//:gtest_main")

_COPTS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    # Parameters that a hook's default does not use keep their names.
    "-Wno-unused-parameter",

    # Designated initialisers leave the other members at their defaults.
    "-Wno-missing-field-initializers",

    # g++ 12 sees overlaps in std::string that are not there (GCC bug 105651).
    "-Wno-restrict",
]

# Linker flags of programs that can be installed: the prefix's libraries first,
# wherever it has been moved to.
INSTALLED_LINKOPTS = ["-Wl,-rpath,$$ORIGIN/../lib"]

def slipway_cc_library(name, copts = [], **kwargs):
    """A library.

    Args:
      name: as in cc_library.
      copts: flags besides the house's.
      **kwargs: as in cc_library.
    """

    # alwayslink, since libslipway_core.so exports the whole of its libraries.
    native.cc_library(
        name = name,
        copts = _COPTS + copts,
        alwayslink = True,
        **kwargs
    )

def slipway_cc_binary(name, copts = [], **kwargs):
    """A program or, with linkshared, a shared library.

    Args:
      name: as in cc_binary.
      copts: flags besides the house's.
      **kwargs: as in cc_binary.
    """
    native.cc_binary(
        name = name,
        copts = _COPTS + copts,
        **kwargs
    )

def slipway_cc_test(name, copts = [], deps = [], size = "small", **kwargs):
    """A GoogleTest program without a main of its own.

    Args:
      name: as in cc_test.
      copts: flags besides the house's.
      deps: what is tested; GoogleTest, GoogleMock and main come by themselves.
      size: as in cc_test.
      **kwargs: as in cc_test.
    """
    native.cc_test(
        name = name,
        size = size,
        copts = _COPTS + copts,
        deps = deps + [_GTEST_MAIN],
        **kwargs
    )

def slipway_fuzz_test(name, srcs, corpus, deps, copts = [], tags = [], **kwargs):
    """A fuzz target: sources that define LLVMFuzzerTestOneInput.

    An ordinary build replays the corpus as a test. With --config=fuzz the same
    target is a libFuzzer program, which starts from the corpus:

        ./bazelw test --config=fuzz //trainer/recipe:recipe_fuzz_test
        ./bazelw run --config=fuzz //trainer/recipe:recipe_fuzz_test -- \\
            -max_total_time=3600 -artifact_prefix=/tmp/

    An input that ends the program belongs into the corpus with its fix.

    Args:
      name: the target.
      srcs: the sources.
      corpus: files of this package, mostly a glob; each is one input.
      deps: what is fuzzed.
      copts: flags besides the house's.
      tags: as in cc_test; "fuzz" is added.
      **kwargs: as in cc_test.
    """
    folders = {file.rpartition("/")[0]: True for file in corpus}.keys()
    paths = [native.package_name() + "/" + folder for folder in folders]
    native.cc_test(
        name = name,
        size = "small",
        srcs = srcs,
        args = select({
            _FUZZING: ["-max_total_time=50"] + paths,
            "//conditions:default": paths,
        }),
        copts = _COPTS + copts,
        data = corpus,
        linkopts = select({
            _FUZZING: ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        tags = tags + ["fuzz"],
        deps = deps + select({
            _FUZZING: [],
            "//conditions:default": [_REPLAY],
        }),
        **kwargs
    )
