"""Writes the skeleton of a plugin, which builds and passes its tests at once.

    ./bazelw run //plugins:new -- --id=com.acme.foo --dir=DIR

leaves in DIR a repository of its own: a manifest, a source, a test, and what
Bazel and CMake need. It builds against the Slipway at --slipway: this source
tree, or an installed prefix, whose first build takes seconds.

Exit codes: 0 written; 1 could not; 2 a wrong command line, nothing written.
"""
import argparse
import os
import re
import sys

SKELETON = os.path.join(os.path.dirname(os.path.abspath(__file__)), "skeleton")
# Bazel's own @slipway//... are none of them.
SLOT = r"@([a-z_]+)@"


class Refusal(Exception):
    """What is wrong with the command line, in words."""


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="new", description=__doc__.split("\n")[0])
    parser.add_argument("--id", required=True, metavar="com.acme.foo",
                        help="the plugin's id: a domain of yours, reversed, "
                        "and the plugin's name")
    parser.add_argument("--dir", required=True, metavar="DIR",
                        help="a folder that is new or empty")
    parser.add_argument("--slipway", metavar="DIR",
                        help="an installed prefix, or Slipway's source tree; "
                        "the one that this runs from, if not given")
    return parser.parse_args(argv)


def check_id(given):
    part = r"[a-z][a-z0-9_]*"
    if not re.fullmatch(r"%s(\.%s)+" % (part, part), given):
        raise Refusal('--id="%s" is no id of a plugin: it has two parts or '
                      "more, of lower-case letters, digits and _, between "
                      "dots, such as com.acme.foo" % given)
    return given


def user_path(given):
    """What a path means where the user stands."""
    here = os.environ.get("BUILD_WORKING_DIRECTORY", os.getcwd())
    return os.path.abspath(os.path.join(here, os.path.expanduser(given)))


def check_dir(given):
    path = user_path(given)
    if os.path.exists(path) and not os.path.isdir(path):
        raise Refusal('--dir="%s" is a file; name a new folder' % path)
    if os.path.isdir(path) and os.listdir(path):
        raise Refusal('--dir="%s" is not empty (it has %s); name a new folder'
                      % (path, sorted(os.listdir(path))[0]))
    return path


def find_slipway(given):
    """The Bazel repository of a prefix, or the source tree."""
    workspace = os.environ.get("BUILD_WORKSPACE_DIRECTORY")
    if given is None and workspace is None:
        raise Refusal("--slipway=DIR is needed: an installed prefix, or "
                      "Slipway's source tree")
    path = workspace if given is None else user_path(given)
    for folder in [os.path.join(path, "share/slipway/bazel"), path]:
        if os.path.exists(os.path.join(folder, "plugins/defs.bzl")):
            return folder
    raise Refusal('--slipway="%s" is neither a prefix that //:install made nor '
                  "Slipway's source tree: it has no plugins/defs.bzl" % path)


def skeleton(plugin_id, slipway):
    """The files: from a name to a text."""
    name = plugin_id.rpartition(".")[2]
    slots = {
        "class": "".join(word.capitalize() for word in name.split("_")),
        "guard": "_".join(plugin_id.upper().split(".")) + "_H_",
        "id": plugin_id,
        "library": "lib%s.so" % plugin_id.replace(".", "_"),
        "name": name,
        "namespace": plugin_id.rpartition(".")[0].replace(".", "_"),
        "slipway": slipway,
        "workspace": plugin_id.replace(".", "_"),
    }

    def fill(text):
        return re.sub(SLOT, lambda match: slots[match.group(1)], text)

    files = {}
    for file in sorted(os.listdir(SKELETON)):
        with open(os.path.join(SKELETON, file), encoding="utf-8") as source:
            # `.in` keeps Bazel and the linters off the skeleton itself.
            place = file[:-len(".in")].replace("dot_", ".")
            files[place.replace("NAME", name)] = fill(source.read())
    return files


def main():
    options = parse(sys.argv[1:])
    try:
        plugin_id = check_id(options.id)
        folder = check_dir(options.dir)
        files = skeleton(plugin_id, find_slipway(options.slipway))
    except Refusal as refusal:
        print("new: %s" % refusal, file=sys.stderr)
        return 2
    try:
        os.makedirs(folder, exist_ok=True)
        for name, text in files.items():
            with open(os.path.join(folder, name), "w",
                      encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        print("new: %s" % error, file=sys.stderr)
        return 1
    print("%s is in %s:\n  %s\nNext:\n  cd %s\n  bazel test //..."
          % (plugin_id, folder, " ".join(sorted(files)), folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
