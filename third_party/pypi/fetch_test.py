"""Fetches a wheel made here, with the real pip and no index."""
import hashlib
import os
import stat
import subprocess
import sys
import tempfile
import unittest
import zipfile

FETCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fetch.py")


class FetchTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.cache = self.path("cache")
        self.wheel = self.make_wheel()
        self.pins = self.path("requirements.txt")
        with open(self.wheel, "rb") as file:
            self.pin(hashlib.sha256(file.read()).hexdigest())

    def path(self, *parts):
        return os.path.join(self.folder.name, *parts)

    def make_wheel(self):
        os.mkdir(self.path("wheels"))
        wheel = self.path("wheels", "tiny-1.0-py3-none-any.whl")
        info = "tiny-1.0.dist-info/"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("tiny/data.txt", "data")
            archive.writestr("tiny/unwanted.txt", "unwanted")
            program = zipfile.ZipInfo("tiny/bin/program")
            program.external_attr = (stat.S_IFREG | 0o755) << 16
            archive.writestr(program, "#!/bin/sh\n")
            archive.writestr(info + "METADATA",
                             "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0")
            archive.writestr(info + "WHEEL",
                             "Wheel-Version: 1.0\nTag: py3-none-any")
            archive.writestr(info + "RECORD", "")
        return wheel

    def pin(self, sha256):
        with open(self.pins, "w", encoding="utf-8") as file:
            file.write("tiny==1.0 --hash=sha256:%s\n" % sha256)

    def start(self, megabytes=1):
        command = [sys.executable, FETCH, "--name=tiny",
                   "--requirements=" + self.pins, "--cache=" + self.cache,
                   "--keep=tiny/data*", "--keep=tiny/bin/*",
                   "--megabytes=%d" % megabytes,
                   "--find_links=" + self.path("wheels")]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                stderr=subprocess.PIPE,
                                env=dict(os.environ, PIP_NO_INDEX="1"))

    def fetch(self, **options):
        process = self.start(**options)
        output, errors = process.communicate()
        return process.returncode, output.strip(), errors

    def folders(self):
        names = os.listdir(self.cache)
        return [name for name in names if not name.endswith(".lock")]

    def test_unpacks_what_is_kept(self):
        status, folder, errors = self.fetch()
        self.assertEqual(status, 0, errors)
        with open(os.path.join(folder, "tiny", "data.txt"),
                  encoding="utf-8") as file:
            self.assertEqual(file.read(), "data")
        self.assertEqual(sorted(os.listdir(os.path.join(folder, "tiny"))),
                         ["bin", "data.txt"])
        self.assertTrue(
            os.access(os.path.join(folder, "tiny", "bin", "program"), os.X_OK))
        self.assertEqual(self.folders(), [os.path.basename(folder)])

    def test_fetches_only_once(self):
        _, first, _ = self.fetch()
        os.remove(self.wheel)
        status, second, errors = self.fetch()
        self.assertEqual((status, second, errors), (0, first, ""))

    def test_refuses_a_wheel_that_differs_from_its_pin(self):
        self.pin("0" * 64)
        status, output, errors = self.fetch()
        self.assertEqual((status, output), (1, ""))
        self.assertIn("tiny: pip could not fetch the wheels pinned in", errors)
        self.assertIn("Expected sha256 " + "0" * 64, errors)
        self.assertEqual(self.folders(), [])

    def test_says_when_a_wheel_cannot_be_found(self):
        os.remove(self.wheel)
        status, _, errors = self.fetch()
        self.assertEqual(status, 1)
        self.assertIn("No matching distribution found for tiny==1.0", errors)

    def test_fetches_again_where_the_pins_changed(self):
        _, first, _ = self.fetch()
        with open(self.pins, "a", encoding="utf-8") as file:
            file.write("# a comment changes nothing\n")
        self.assertEqual(self.fetch()[1], first)
        with open(self.pins, "r+", encoding="utf-8") as file:
            pin = file.readline()
            file.seek(0)
            file.write(pin.strip() + " --hash=sha256:" + "0" * 64 + "\n")
        self.assertNotEqual(self.fetch()[1], first)

    def test_two_at_once_make_one_folder(self):
        outputs = [process.communicate() for process
                   in [self.start(), self.start()]]
        self.assertEqual(outputs[0][0], outputs[1][0])
        self.assertEqual(
            "".join(errors for _, errors in outputs).count("unpacking"), 1)

    def test_refuses_a_disk_that_is_too_small(self):
        status, _, errors = self.fetch(megabytes=10**12)
        self.assertEqual(status, 1)
        self.assertIn("4000000000000 MB are needed; set SLIPWAY_CACHE", errors)

    def test_refuses_a_cache_that_cannot_be_made(self):
        with open(self.cache, "w", encoding="utf-8") as file:
            file.write("a file, not a folder")
        status, _, errors = self.fetch()
        self.assertEqual(status, 1)
        self.assertIn("tiny: [Errno 17] File exists", errors)


if __name__ == "__main__":
    unittest.main()
