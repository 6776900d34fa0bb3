"""Installs Slipway into a folder that needs nothing of the build tree.

    ./bazelw run //:install -- --prefix=DIR

leaves in DIR: bin/ (trainer, launcher, ...), lib/ (the core, LibTorch, the
plugins in lib/slipway/plugins), include/slipway/, share/slipway/ (recipes), and
the package files of pkg-config and CMake. DIR can be moved as a whole. A second
time it changes only what differs, and removes what an earlier one installed and
this one does not.

Exit codes: 0 installed; 1 could not; 2 a wrong command line.
"""
import argparse
import filecmp
import os
import re
import shutil
import subprocess
import sys

# What an earlier installation put into a prefix.
LISTING = "share/slipway/installed.txt"

# The Bazel repository in a prefix.
BAZEL = "share/slipway/bazel"

HERE = os.path.dirname(os.path.abspath(__file__))
# What is to be installed, beside this script, and where its paths begin.
FILES = os.path.join(HERE, "files.txt")
RUNFILES = os.path.dirname(os.path.dirname(HERE))


class Failure(Exception):
    """What went wrong, in words."""


class Prefix:
    """The folder that is installed into."""

    def __init__(self, path):
        self.path = path
        self.places = set()
        self.changed = 0
        self.bytes = 0

    def copy(self, place, source):
        """Puts a copy of a file at a place."""
        target = self._enter(place)
        self.bytes += os.path.getsize(source)
        if os.path.isfile(target) and filecmp.cmp(source, target, False):
            return
        self._replace(target, lambda new: shutil.copy(source, new))

    def link(self, place, source):
        """The same for files that never change: without a copy where it can."""
        target = self._enter(place)
        self.bytes += os.path.getsize(source)
        if os.path.exists(target) and os.path.samefile(source, target):
            return
        try:
            self._replace(target, lambda new: os.link(source, new))
        except OSError:  # another file system, or one without links
            self.copy(place, source)

    def write(self, place, text):
        """Puts a text at a place."""
        target = self._enter(place)
        self.bytes += len(text)
        if os.path.isfile(target) and read(target) == text:
            return

        def put(new):
            with open(new, "w", encoding="utf-8") as file:
                file.write(text)
        self._replace(target, put)

    def symlink(self, place, target):
        """Puts a link, which is relative, at a place."""
        path = self._enter(place)
        if not os.path.islink(path) or os.readlink(path) != target:
            self._replace(path, lambda new: os.symlink(target, new))

    def remove_others(self):
        """Removes what only an earlier installation had."""
        listing = os.path.join(self.path, LISTING)
        before = read(listing).split("\n") if os.path.exists(listing) else []
        for place in before:
            path = os.path.join(self.path, place)
            if place and place not in self.places and os.path.lexists(path):
                os.remove(path)
                self.changed += 1
        self.write(LISTING, "".join(p + "\n" for p in sorted(self.places)))

    def _enter(self, place):
        target = os.path.join(self.path, place)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        self.places.add(place)
        return target

    def _replace(self, target, put):
        """Whole or not at all, also under a trainer that runs from here."""
        new = target + ".new"
        if os.path.lexists(new):
            os.remove(new)
        put(new)
        os.replace(new, target)
        self.changed += 1


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="install", description=__doc__.split("\n")[0])
    parser.add_argument("--prefix", required=True, metavar="DIR",
                        help="the folder to install into; it may exist")
    return parser.parse_args(argv)


def resolve_prefix(given):
    """The folder that the user means, from where the user stands."""
    here = os.environ.get("BUILD_WORKING_DIRECTORY", os.getcwd())
    path = os.path.abspath(os.path.join(here, os.path.expanduser(given)))
    if os.path.exists(path) and not os.path.isdir(path):
        raise Failure('--prefix="%s" is a file; name a folder, new or old'
                      % path)
    return path


def own_files():
    """From a place in the prefix, or the @name of an input, to a file."""
    lines = [line.split("\t") for line in read(FILES).splitlines()]
    return {place.lstrip("/"): os.path.realpath(os.path.join(RUNFILES, source))
            for place, source in lines}


def needed(path):
    """The shared libraries that a program or library asks for."""
    output = subprocess.run(["readelf", "-d", path], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output)


def libtorch_libraries(folders, programs):
    """LibTorch's libraries that these need, with what they need in turn."""
    found, open_files = {}, list(programs)
    while open_files:
        for name in needed(open_files.pop()):
            for folder in folders:
                path = os.path.join(folder, name)
                if name not in found and os.path.exists(path):
                    found[name] = os.path.realpath(path)
                    open_files.append(path)
    return found


def files_below(root):
    for folder, _, files in os.walk(root):
        for file in files:
            path = os.path.join(folder, file)
            yield os.path.relpath(path, root), path


def replacements(files, libraries):
    """The @names@ of templates."""
    table = [line for line in read(files["@system_libraries"]).split("\n")
             if line.split() and not line.startswith("#")]
    rows = {line.split()[0]: line for line in table}
    # Those that our headers include.
    requires = [rows[name].split()[2:] for name in ["absl", "nlohmann_json"]]
    build = ["absl", "gtest", "gtest_main", "nlohmann_json"]
    return {
        "@version@": quoted(files["@version"]),
        "@libtorch@": quoted(files["@libtorch_version"]),
        "@requires@": " ".join(sum(requires, [])),
        "@system_table@": "\n".join(rows[name] for name in build),
        "@libraries@": "\n".join('        "lib/%s",' % name for name in
                                 sorted([*libraries, "libslipway_core.so"])),
    }


def quoted(path):
    """The only text in quotes that a header defines."""
    return re.search(r'= "(.*)"', read(path)).group(1)


def is_binary(place):
    return place.startswith("bin/") or place.endswith(".so")


def install(prefix):
    files = own_files()
    folders = read(files["@libtorch_folders"]).split()
    libraries = libtorch_libraries(
        folders, [path for place, path in files.items() if is_binary(place)])
    names = replacements(files, libraries)
    for place, source in files.items():
        if place.endswith(".in"):
            text = read(source)
            for name, value in names.items():
                text = text.replace(name, value)
            prefix.write(place[:-len(".in")], text)
        elif not place.startswith("@"):
            prefix.copy(place, source)
    for name, path in libraries.items():
        prefix.link("lib/" + name, path)
    for place, path in files_below(files["@libtorch_include"]):
        prefix.link("include/slipway/libtorch/" + place, path)
    bazel_repository(prefix, files)
    prefix.remove_others()
    return names


def bazel_repository(prefix, files):
    """What there is of it besides the package's own files."""
    for name in ["remote_coverage_tools", "rules_cc", "rules_java"]:
        # A small repository: all that lies beside its WORKSPACE.
        for place, path in files_below(os.path.dirname(files["@" + name])):
            prefix.copy("%s/third_party/bazel/%s/%s" % (BAZEL, name, place),
                        path)
    for name, target in [("bin", "bin"), ("include", "include/slipway"),
                         ("lib", "lib")]:
        prefix.symlink("%s/%s" % (BAZEL, name), "../../../" + target)


def summary(prefix, names):
    def count(pattern):
        return len([p for p in prefix.places if re.fullmatch(pattern, p)])
    programs = sorted(os.path.basename(p) for p in prefix.places
                      if p.startswith("bin/"))
    return """\
Slipway {} is in {}: {} files, {} of them changed, {} MB
  bin/                  {}
  lib/                  libslipway_core.so, LibTorch {}
  lib/slipway/plugins/  {} plugins
  include/slipway/      headers for plugins of your own
  share/slipway/        recipes, and bazel/ for a local_repository
Next:
  {}/bin/trainer --recipe=digits_resnet
""".format(names["@version@"], prefix.path, len(prefix.places), prefix.changed,
           prefix.bytes // 1000000, ", ".join(programs),
           names["@libtorch@"],
           count(r"lib/slipway/plugins/[^/]*/plugin.yaml"), prefix.path)


def main():
    options = parse(sys.argv[1:])
    try:
        prefix = Prefix(resolve_prefix(options.prefix))
    except Failure as failure:
        print("install: %s" % failure, file=sys.stderr)
        return 2
    try:
        names = install(prefix)
    except (OSError, subprocess.CalledProcessError) as error:
        print("install: %s; what was installed so far stays, and the same "
              "command goes on from there" % error, file=sys.stderr)
        return 1
    print(summary(prefix, names), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
