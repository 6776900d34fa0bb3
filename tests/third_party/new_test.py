"""What //plugins:new writes, and what it refuses."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from prefix import run  # pylint: disable=C0413

NEW = os.path.abspath("plugins/template/new.py")


class New(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.slipway = os.path.join(self.folder, "slipway")
        os.makedirs(os.path.join(self.slipway, "plugins"))
        self.write("slipway/plugins/defs.bzl", "")

    def write(self, place, text):
        with open(os.path.join(self.folder, place), "w",
                  encoding="utf-8") as file:
            file.write(text)

    def new(self, *arguments):
        return run([sys.executable, "-B", NEW, *arguments], self.folder)

    def test_fills_in_the_names(self):
        code, told = self.new("--id=org.some_body.fast_thing", "--dir=new",
                              "--slipway=slipway")
        self.assertEqual(code, 0, told)
        made = os.path.join(self.folder, "new")
        self.assertEqual(sorted(os.listdir(made)), [
            ".bazelrc", ".gitignore", "BUILD", "CMakeLists.txt", "MODULE.bazel",
            "README.md", "WORKSPACE", "WORKSPACE.bzlmod", "fast_thing.cc",
            "fast_thing.h", "fast_thing_test.cc", "plugin.yaml"])
        texts = {}
        for name in os.listdir(made):
            with open(os.path.join(made, name), encoding="utf-8") as file:
                texts[name] = file.read()
            self.assertNotRegex(texts[name], r"@[a-z_]+@", name)
        self.assertIn("library: liborg_some_body_fast_thing.so",
                      texts["plugin.yaml"])
        self.assertIn("class FastThing :", texts["fast_thing.h"])
        self.assertIn('path = "%s"' % self.slipway, texts["WORKSPACE"])

    def test_refuses_ids_that_manifests_could_not_have(self):
        for bad in ["foo", "Com.acme.foo", "com..foo", "com.acme.", "com.1.x",
                    "com.acme.foo-bar", "com.acme.foo\n", ""]:
            code, told = self.new("--id=" + bad, "--dir=new",
                                  "--slipway=slipway")
            self.assertEqual(code, 2, bad)
            self.assertIn("is no id of a plugin", told)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "new")))

    def test_refuses_a_folder_that_is_not_empty(self):
        code, told = self.new("--id=com.acme.foo", "--dir=slipway",
                              "--slipway=slipway")
        self.assertEqual(code, 2)
        self.assertIn("is not empty (it has plugins)", told)

    def test_refuses_a_folder_that_is_a_file(self):
        code, told = self.new("--id=com.acme.foo", "--slipway=slipway",
                              "--dir=slipway/plugins/defs.bzl")
        self.assertEqual(code, 2)
        self.assertIn("is a file", told)

    def test_refuses_a_slipway_that_is_none(self):
        code, told = self.new("--id=com.acme.foo", "--dir=new",
                              "--slipway=slipway/plugins")
        self.assertEqual(code, 2)
        self.assertIn("it has no plugins/defs.bzl", told)
        code, told = self.new("--id=com.acme.foo", "--dir=new")
        self.assertEqual(code, 2)
        self.assertIn("--slipway=DIR is needed", told)


if __name__ == "__main__":
    unittest.main()
