"""What comes from PyPI's wheels: pinned by hash, kept in the user's cache."""

# What decides where the wheels come from and go to.
FETCH_ENVIRON = [
    "HOME",
    "PYTHON",
    "SLIPWAY_CACHE",
    "SLIPWAY_WHEELS",
    "XDG_CACHE_HOME",
]

def _cache_folder(rctx):
    """The cache folder: $SLIPWAY_CACHE, else a folder of the user's cache."""
    env = rctx.os.environ
    if env.get("SLIPWAY_CACHE"):
        return env["SLIPWAY_CACHE"]
    if env.get("XDG_CACHE_HOME"):
        return env["XDG_CACHE_HOME"] + "/slipway"
    if env.get("HOME"):
        return env["HOME"] + "/.cache/slipway"
    fail("no folder for downloads: set SLIPWAY_CACHE or HOME")

def fetch_wheels(rctx, name, fetcher, requirements, keep, megabytes, advice):
    """Returns the path of a folder with the unpacked wheels.

    Args:
      rctx: the repository's context.
      name: how the messages call what is fetched.
      fetcher: label of fetch.py.
      requirements: label of the pins, in pip's format, with hashes.
      keep: patterns of the wheels' members to unpack.
      megabytes: the size of the download.
      advice: what the user can do where it fails.
    """
    python = rctx.os.environ.get("PYTHON") or rctx.which("python3")
    if not python:
        fail("{}: python3 is not on the PATH; {}".format(name, advice))
    rctx.report_progress("fetching {} ({} MB, once)".format(name, megabytes))
    result = rctx.execute(
        [
            python,
            rctx.path(fetcher),
            "--name=" + name,
            "--requirements={}".format(rctx.path(requirements)),
            "--cache=" + _cache_folder(rctx),
            "--megabytes={}".format(megabytes),
            "--find_links=" + rctx.os.environ.get("SLIPWAY_WHEELS", ""),
        ] + ["--keep=" + pattern for pattern in keep],
        quiet = False,
        timeout = 7200,
    )
    if result.return_code:
        fail("{}\n{}".format(result.stderr.strip(), advice))
    return result.stdout.strip()

def _pypi_repository_impl(rctx):
    folder = rctx.path(fetch_wheels(
        rctx,
        name = rctx.attr.title,
        fetcher = rctx.attr._fetcher,
        requirements = rctx.attr.requirements,
        keep = rctx.attr.keep,
        megabytes = rctx.attr.megabytes,
        advice = "Only tests need it: other targets build without it.",
    ))
    for entry in folder.readdir():
        rctx.symlink(entry, entry.basename)
    rctx.symlink(rctx.attr.build_file, "BUILD")

# A repository with the files of some wheels. Bazel fetches it when a target
# that is built needs it, and not before.
pypi_repository = repository_rule(
    implementation = _pypi_repository_impl,
    attrs = {
        "build_file": attr.label(mandatory = True),
        "keep": attr.string_list(mandatory = True),
        "megabytes": attr.int(mandatory = True),
        "requirements": attr.label(mandatory = True),
        # Bazel 7 decorates the repository's own name.
        "title": attr.string(mandatory = True),
        "_fetcher": attr.label(default = "//third_party/pypi:fetch.py"),
    },
    environ = FETCH_ENVIRON,
)
