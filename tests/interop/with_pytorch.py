"""Runs a Python program that imports PyTorch, which it fetches once.

    with_pytorch.py PROGRAM ARGUMENTS...

The wheels are third_party/pytorch's, in the user's cache. That of torch is
linked against CUDA's libraries (three gigabytes), which its CPU half never
calls: stand-ins without content satisfy the loader, as long as it binds
functions lazily (the program calls sys.setdlopenflags(os.RTLD_LAZY)).
"""
import os
import subprocess
import sys
import tempfile

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


def main():
    folder = fetch()
    environment = dict(os.environ, PYTHONPATH=folder,
                       LD_LIBRARY_PATH=stand_ins(folder + ".stubs"))
    os.execve(sys.executable, [sys.executable] + sys.argv[1:], environment)


def fetch():
    command = [
        sys.executable, "third_party/pypi/fetch.py", "--name=pytorch",
        "--requirements=third_party/pytorch/requirements.txt",
        "--cache=" + cache(), "--keep=*", "--megabytes=600",
        "--find_links=" + os.environ.get("SLIPWAY_WHEELS", "")]
    return subprocess.check_output(command, text=True).strip()


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
            ["gcc", "-shared", "-nostdlib", "-Wl,-soname," + name,
             "-Wl,--version-script,stub.map", "-o", name, "stub.c"],
            cwd=scratch)
    # The last step, so that nobody ever sees half a folder.
    os.rename(scratch, folder)
    return folder


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
