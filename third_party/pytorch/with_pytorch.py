#!/usr/bin/env python3
"""Runs a Python program that imports PyTorch, which it fetches once.

    with_pytorch.py PROGRAM ARGUMENTS...

The wheels are those of requirements.txt, in the user's cache, for Python 3.11.
That of torch is linked against CUDA's libraries (three gigabytes), which its
CPU half never calls: stand-ins without content satisfy the loader, as long as
it binds functions lazily (the program calls sys.setdlopenflags(os.RTLD_LAZY)).

Programs that run others this way import it: environment() says what to run.
"""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile

PYTHON_VERSION = (3, 11)  # of the wheels

STAND_INS = [
    "libcublas.so.13", "libcublasLt.so.13", "libcuda.so.1", "libcudnn.so.9",
    "libcufft.so.12", "libcufile.so.0", "libcusolver.so.12",
    "libcusparse.so.12", "libcusparseLt.so.0", "libnccl.so.2",
    "libnvrtc.so.13", "libnvshmem_host.so.3",
]

# What is bound at once, since it is data: of NVSHMEM, with its version.
SOURCE = """
int nvshmem_init, nvshmem_selected_device_transport;
int nvshmemi_device_only_state, nvshmemi_get_device_state_ptrs;
"""
VERSIONS = "NVSHMEM { global: *; };"


class Missing(Exception):
    """What the machine lacks; `hint` is what its user can do."""

    def __init__(self, message, hint=""):
        super().__init__(message)
        self.message = message
        self.hint = hint


def main():
    try:
        python = interpreter()
        variables = environment()
    except Missing as error:
        sys.exit("with_pytorch: %s; %s" % (error.message, error.hint))
    os.execve(python, [python] + sys.argv[1:], dict(os.environ, **variables))


def interpreter():
    """The Python that the wheels are for: this one, else that of the PATH."""
    if sys.version_info[:2] == PYTHON_VERSION:
        return sys.executable
    wanted = "%d.%d" % PYTHON_VERSION
    found = shutil.which("python" + wanted)
    if not found:
        raise Missing("PyTorch's wheels are for Python %s, this is %d.%d"
                      % ((wanted,) + sys.version_info[:2]),
                      "install Python %s, or name it in $PYTHON" % wanted)
    return found


def compiler():
    """A C++ compiler, which PyTorch's own compiler needs too."""
    found = shutil.which(os.environ.get("CXX") or "g++")
    if not found:
        raise Missing("there is no C++ compiler: %s is not on the PATH"
                      % (os.environ.get("CXX") or "g++"), "install g++")
    return found


def environment():
    """The variables with which Python finds PyTorch; fetches it if it must."""
    folder = fetch()
    return {"PYTHONPATH": folder,
            # Not what the user has installed for other programs.
            "PYTHONNOUSERSITE": "1",
            # Programs may lie where they cannot leave compiled files.
            "PYTHONPYCACHEPREFIX": folder + ".pyc",
            "LD_LIBRARY_PATH": stand_ins(folder + ".stubs")}


def fetch():
    command = [
        sys.executable, beside("../pypi", "fetch.py"), "--name=pytorch",
        "--requirements=" + beside(".", "requirements.txt"),
        "--cache=" + cache(), "--keep=*", "--megabytes=600",
        "--find_links=" + os.environ.get("SLIPWAY_WHEELS", "")]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                            check=False)
    if result.returncode != 0:
        raise Missing("PyTorch for Python is not there and cannot be fetched",
                      "the reason stands above")
    return result.stdout.strip()


def beside(folder, name):
    """A file of ours: in its place in the tree, or beside this one."""
    own = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(own, name)
    return path if os.path.exists(path) else os.path.join(own, folder, name)


def cache():
    user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("SLIPWAY_CACHE") or os.path.join(user, "slipway")


def stand_ins(folder):
    if os.path.isdir(folder):
        return folder
    scratch = tempfile.mkdtemp(dir=os.path.dirname(folder))
    write(os.path.join(scratch, "stub.c"), SOURCE)
    write(os.path.join(scratch, "stub.map"), VERSIONS)
    for name in STAND_INS:
        subprocess.check_call(
            [compiler(), "-shared", "-nostdlib", "-Wl,-soname," + name,
             "-Wl,--version-script,stub.map", "-o", name, "-x", "c", "stub.c"],
            cwd=scratch)
    # The last step, so that nobody ever sees half a folder; another process may
    # have been faster.
    with contextlib.suppress(OSError):
        os.rename(scratch, folder)
    shutil.rmtree(scratch, ignore_errors=True)
    return folder


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
