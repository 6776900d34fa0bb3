"""The checks that every plugin passes, as a test.

    load("//plugins/testing:conformance.bzl", "trainer_plugin_conformance_test")

    trainer_plugin_conformance_test(
        name = "conformance_test",
        plugin = ":ema",
    )

The same in a workspace of its own, with "@slipway//plugins/testing:conformance.bzl".
"""

# Labels, so that they mean the same in a repository that loads this file.
_PROGRAM = Label("//plugins/testing:conformance")
_SCRIPT = Label("//plugins/testing:conformance.sh")

def trainer_plugin_conformance_test(
        name,
        plugin,
        requires = [],
        recipe = None,
        args = [],
        data = [],
        size = "medium",
        **kwargs):
    """Runs //plugins/testing:conformance on a plugin.

    plugins/testing/README.md tells each check's reason and remedy.

    Args:
      name: the test.
      plugin: a trainer_plugin().
      requires: trainer_plugin()s that it requires, and those that these require.
      recipe: a YAML file with keys for the checks' trainings, such as what the
        plugin needs configured.
      args: further flags: --seed=N, --check=PLG_003.
      data: files that the plugin reads.
      size: as in sh_test.
      **kwargs: as in sh_test.
    """
    flags = ["--recipe=$(rootpath {})".format(recipe)] if recipe else []
    plugins = ["$(rootpaths {})".format(each) for each in [plugin] + requires]
    native.sh_test(
        name = name,
        size = size,
        srcs = [_SCRIPT],
        args = ["$(rootpath {})".format(_PROGRAM)] + flags + args + plugins,
        data = [_PROGRAM, plugin] + requires + ([recipe] if recipe else []) + data,
        **kwargs
    )
