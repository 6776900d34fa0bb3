"""@pytorch: PyTorch's wheels with what they import, and no CUDA.

The wheel of torch is linked against CUDA's libraries (three gigabytes), which
its CPU half never calls. Stand-ins without content satisfy the loader instead,
as long as it binds functions lazily (sys.setdlopenflags(os.RTLD_LAZY)).
"""

load("//third_party/pypi:pypi.bzl", "FETCH_ENVIRON", "fetch_wheels")

_STUBS = [
    "libcublas.so.13",
    "libcublasLt.so.13",
    "libcuda.so.1",
    "libcudnn.so.9",
    "libcufft.so.12",
    "libcufile.so.0",
    "libcusolver.so.12",
    "libcusparse.so.12",
    "libcusparseLt.so.0",
    "libnccl.so.2",
    "libnvrtc.so.13",
    "libnvshmem_host.so.3",
]

# What is bound at once, since it is data: of NVSHMEM, with its version.
_SOURCE = """\
int nvshmem_init, nvshmem_selected_device_transport;
int nvshmemi_device_only_state, nvshmemi_get_device_state_ptrs;
"""

def _pytorch_repository_impl(rctx):
    folder = fetch_wheels(
        rctx,
        name = "pytorch",
        fetcher = rctx.attr._fetcher,
        requirements = rctx.attr._requirements,
        keep = ["*"],
        megabytes = 600,
        advice = "Only tests of interoperation need it.",
    )
    rctx.symlink(folder, "site-packages")
    rctx.file("stubs/stub.c", _SOURCE)
    rctx.file("stubs/stub.map", "NVSHMEM { global: *; };\n")
    for name in _STUBS:
        _compile_stub(rctx, name)
    rctx.symlink(rctx.attr._build_file, "BUILD")

def _compile_stub(rctx, name):
    result = rctx.execute([
        rctx.os.environ.get("CC") or rctx.which("gcc") or "cc",
        "-shared",
        "-nostdlib",
        "-Wl,-soname," + name,
        "-Wl,--version-script,stubs/stub.map",
        "-o",
        "stubs/" + name,
        "stubs/stub.c",
    ])
    if result.return_code:
        fail("pytorch: the stand-in for {} does not compile:\n{}".format(
            name,
            result.stderr,
        ))

pytorch_repository = repository_rule(
    implementation = _pytorch_repository_impl,
    attrs = {
        "_build_file": attr.label(default = "//third_party/pytorch:pytorch.BUILD"),
        "_fetcher": attr.label(default = "//third_party/pypi:fetch.py"),
        "_requirements": attr.label(default = "//third_party/pytorch:requirements.txt"),
    },
    environ = FETCH_ENVIRON + ["CC"],
)
