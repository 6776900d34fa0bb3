"""Python tests, with whatever python3 the machine has.

Bazel's own py_test asks older Bazels' hosts for a program called `python`,
which Debian has not. Nothing here is more than a script, so a script runs it.
"""

def slipway_py_test(name, main, data = [], args = [], **kwargs):
    """A test that is a Python program.

    Args:
      name: the test.
      main: the file to run.
      data: the files that it imports or reads.
      args: its arguments.
      **kwargs: as in sh_test.
    """
    native.sh_test(
        name = name,
        srcs = ["//third_party/bazel:python3.sh"],
        args = ["$(rootpath {})".format(main)] + args,
        data = [main] + data,
        **kwargs
    )
