"""An installed Slipway, as a stranger has it, for tests."""
import os
import shutil
import subprocess
import sys
import tempfile

INSTALL = "plugins/install/install.py"
# A stranger's: without what Bazel tells its tests, and one thread.
ENVIRONMENT = {"HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8",
               "OMP_NUM_THREADS": "1", "PATH": os.environ["PATH"]}
ENVIRONMENT.update({name: value for name, value in os.environ.items()
                    if name.endswith("SAN_OPTIONS")})
# By what a program that was built with them links.
SANITIZERS = {"libasan.so": "-fsanitize=address,undefined",
              "libtsan.so": "-fsanitize=thread"}


def run(arguments, folder, **environment):
    """The exit code and all output of a program."""
    done = subprocess.run(arguments, cwd=folder, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**ENVIRONMENT, **environment})
    return done.returncode, done.stdout


def sanitizers(trainer):
    """The flags of plugins for a trainer: it takes them only as it is."""
    _, libraries = run(["readelf", "-d", trainer], os.getcwd())
    return [flag for library, flag in SANITIZERS.items()
            if library in libraries]


class Prefix:
    """Slipway in a folder into which it was moved after it was installed.

        prefix = Prefix()
        code, output = prefix.trainer(["--recipe=digits_resnet"], folder)
        prefix.remove()
    """

    def __init__(self):
        self.root = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        first = os.path.join(self.root, "first")
        code, self.told = install(first)
        if code != 0:
            raise AssertionError(self.told)
        self.path = os.path.join(self.root, "moved", "slipway")
        os.makedirs(os.path.dirname(self.path))
        os.rename(first, self.path)

    def remove(self):
        shutil.rmtree(self.root)

    def folder(self, name):
        """A new folder beside the prefix."""
        path = os.path.join(self.root, name)
        os.makedirs(path)
        return path

    def file(self, place):
        return os.path.join(self.path, place)

    def trainer(self, arguments, folder):
        return run([self.file("bin/trainer"), "--progress=none", *arguments],
                   folder)

    def pkg_config(self, *flags):
        path = self.file("lib/pkgconfig")
        code, output = run(["pkg-config", *flags, "slipway"], self.root,
                           PKG_CONFIG_PATH=path)
        if code != 0:
            raise AssertionError(output)
        return output.split()


def install(path):
    return run([sys.executable, "-B", os.path.abspath(INSTALL),
                "--prefix=" + path], os.getcwd())
