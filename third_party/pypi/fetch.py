#!/usr/bin/env python3
"""Unpacks pinned PyPI wheels into a cache folder and prints that folder.

    fetch.py --name=libtorch --requirements=requirements.txt \
        --cache="$HOME/.cache/slipway" --keep='torch/lib/*' --megabytes=553

Every line of the requirements names a version and a SHA-256; pip refuses a
wheel that differs. The folder appears whole or not at all, and its name changes
with the pins, so that a folder that exists needs no second look. Wheels are
unpacked, never installed: the host's Python may be of any version from 3.8.
"""
import argparse
import contextlib
import fcntl
import fnmatch
import glob
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile

# The wheels of our pins are for CPython 3.11 on Linux x86-64 with glibc 2.28.
WHEEL_TAGS = [
    "--implementation=cp",
    "--python-version=311",
    "--abi=cp311",
    "--abi=none",
    "--platform=manylinux2010_x86_64",
    "--platform=manylinux2014_x86_64",
    *("--platform=manylinux_2_%d_x86_64" % minor for minor in range(28, 4, -1)),
]

SECONDS_BETWEEN_REPORTS = 5


class FetchError(Exception):
    """What went wrong and what the user can do about it."""


def main():
    options = parse_arguments()
    try:
        print(fetch(options))
    except (FetchError, OSError) as error:
        sys.exit("%s: %s" % (options.name, error))


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--name", required=True)
    parser.add_argument("--requirements", required=True)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--keep", action="append", required=True,
                        help="pattern of the wheels' members to unpack")
    parser.add_argument("--megabytes", type=int, required=True,
                        help="what there is to download, for the progress")
    parser.add_argument("--find_links", default="",
                        help="a folder in which to look for the wheels first")
    return parser.parse_args(arguments)


def fetch(options):
    """Returns the folder with the unpacked wheels; makes it where missing."""
    os.makedirs(options.cache, exist_ok=True)
    folder = os.path.join(options.cache,
                          "%s-%s" % (options.name, fingerprint(options)))
    # Two builds may start at once: the second waits, then finds the folder.
    with locked(folder + ".lock"):
        if not os.path.isdir(folder):
            download_and_unpack(options, folder)
    return folder


def fingerprint(options):
    with open(options.requirements, encoding="utf-8") as file:
        pins = [line.strip() for line in file if not line.startswith("#")]
    text = "\n".join(pins + sorted(options.keep))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@contextlib.contextmanager
def locked(path):
    with open(path, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def download_and_unpack(options, folder):
    check_machine()
    check_space(options)
    with tempfile.TemporaryDirectory(prefix=options.name + "-",
                                     dir=options.cache) as scratch:
        download(options, scratch)
        unpacked = os.path.join(scratch, "unpacked")
        for wheel in glob.glob(os.path.join(scratch, "*.whl")):
            say(options, "unpacking " + os.path.basename(wheel))
            unpack(wheel, options.keep, unpacked)
        # The last step, so that nobody ever sees half a folder.
        os.rename(unpacked, folder)


def check_machine():
    found = (platform.system(), platform.machine())
    if found != ("Linux", "x86_64"):
        raise FetchError("the pinned wheels are for Linux on x86_64, this is "
                         "%s on %s" % found)


def check_space(options):
    # The wheels and, roughly three times their size, what is in them.
    needed = 4 * options.megabytes
    free = shutil.disk_usage(options.cache).free // 10**6
    if free < needed:
        raise FetchError("%s has %d MB free, %d MB are needed; set "
                         "SLIPWAY_CACHE to a folder on another disk"
                         % (options.cache, free, needed))


def download(options, scratch):
    command = pip(scratch) + [
        "download", "--require-hashes", "--no-deps", "--only-binary=:all:",
        "--no-cache-dir", "--disable-pip-version-check", "--quiet",
        "--requirement=" + options.requirements, "--dest=" + scratch,
        *WHEEL_TAGS]
    if options.find_links:
        command.append("--find-links=" + os.path.abspath(options.find_links))
    say(options, "downloading %d MB" % options.megabytes)
    with reported_growth(options, scratch):
        # pip's temporary files land in the scratch folder: they are what grows.
        status = subprocess.run(command, stdout=sys.stderr, check=False,
                                env=dict(os.environ, TMPDIR=scratch)).returncode
    if status != 0:
        raise FetchError("pip could not fetch the wheels pinned in %s; its "
                         "reason stands above" % options.requirements)


def pip(scratch):
    """The command for pip: the host's, else one in a throw-away environment."""
    if runs(sys.executable, "-m", "pip", "--version"):
        return [sys.executable, "-m", "pip"]
    environment = os.path.join(scratch, "environment")
    if not runs(sys.executable, "-m", "venv", environment):
        raise FetchError("%s has neither pip nor venv; install python3-pip or "
                         "python3-venv" % sys.executable)
    return [os.path.join(environment, "bin", "python"), "-m", "pip"]


def runs(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


@contextlib.contextmanager
def reported_growth(options, folder):
    """Says every few seconds how far the folder has grown.

    pip draws its own bar on terminals only, and Bazel gives it none.
    """
    done = threading.Event()

    def watch():
        while not done.wait(SECONDS_BETWEEN_REPORTS):
            # pip copies a finished wheel before it removes its own.
            megabytes = min(size(folder) // 10**6, options.megabytes)
            say(options, "%d of %d MB" % (megabytes, options.megabytes))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def size(folder):
    total = 0
    for path, _, files in os.walk(folder):
        for file in files:
            # A file may be renamed or removed while we look.
            with contextlib.suppress(OSError):
                total += os.path.getsize(os.path.join(path, file))
    return total


def unpack(wheel, patterns, folder):
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if any(fnmatch.fnmatch(member.filename, p) for p in patterns):
                path = archive.extract(member, folder)
                # zipfile forgets permissions, and programs must stay programs.
                mode = member.external_attr >> 16
                if mode and not member.is_dir():
                    os.chmod(path, mode & 0o777)


def say(options, message):
    print("%s: %s" % (options.name, message), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
