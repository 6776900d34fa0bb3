"""Opens a page of //trainer:report in headless Chromium."""
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

REPORT = os.path.abspath(sys.argv.pop(1))
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or \
    shutil.which("google-chrome")
if CHROMIUM is None:
    sys.exit("no Chromium: install Debian's package `chromium`")


def write_run(folder, rate, finished):
    """A run of two epochs of 100 steps, as the trainer leaves it."""
    os.mkdir(folder)
    lines = [{"kind": "header", "schema": 1}]
    for step in range(0, 200, 10):
        loss = "nan" if step == 50 else 2.3 * math.exp(-rate * step)
        lines.append({"kind": "step", "time": 1000 + step, "epoch": step // 100,
                      "step": step, "loss": loss, "lr": {"default": rate},
                      "samples_per_second": 900 + step, "data_wait": 0.1})
        if step % 100 == 90:
            for split in ["train", "valid"]:
                lines.append({"kind": "epoch", "split": split,
                              "epoch": step // 100, "step": step + 10,
                              "metrics": {"Accuracy": 0.5 + step / 1000},
                              "seconds": 1, "time": {"data": 1, "forward": 2}})
    lines.append({"kind": "event", "name": "resume", "epoch": 1, "step": 120,
                  "detail": {}})
    with open(os.path.join(folder, "metrics.jsonl"), "w",
              encoding="utf-8") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))
        file.write("" if finished else '{"kind":"st')
    plan = {"lr": [{"group": "default", "steps": [0, 150, 299],
                    "values": [rate, rate, rate / 2]}]}
    with open(os.path.join(folder, "plan.json"), "w",
              encoding="utf-8") as file:
        json.dump(plan, file)
    if finished:
        with open(os.path.join(folder, "result.json"), "w",
                  encoding="utf-8") as file:
            json.dump({"exit_reason": "done", "epochs": 2, "steps": 200}, file)


class BrowserTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        write_run(os.path.join(cls.folder.name, "a"), 0.01, finished=True)
        write_run(os.path.join(cls.folder.name, "b"), 0.02, finished=False)
        subprocess.run([REPORT, "a", "b", "--out=page.html"],
                       cwd=cls.folder.name, check=True)
        cls.document, cls.messages = cls.open("--dump-dom")

    @classmethod
    def open(cls, *flags):
        """What Chromium prints, and what it says on standard error."""
        page = "file://%s/page.html" % cls.folder.name
        done = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
             "--enable-logging=stderr", "--virtual-time-budget=5000",
             "--user-data-dir=" + os.path.join(cls.folder.name, "profile"),
             # Any request beyond the file itself would fail, and be said.
             "--host-resolver-rules=MAP * ~NOTFOUND", *flags, page],
            cwd=cls.folder.name, capture_output=True, text=True, timeout=240,
            check=True)
        return done.stdout, done.stderr

    def test_runs_without_an_error(self):
        said = [line for line in self.messages.splitlines()
                if "CONSOLE" in line]
        self.assertEqual(said, [])

    def test_draws_every_chart(self):
        self.assertIn('data-drawn="5"', self.document)
        titles = re.findall(r"<h3[^>]*>([^<]*)</h3>", self.document)
        self.assertEqual(titles, ["Loss, step by step", "Accuracy",
                                  "Learning rate", "Samples per second",
                                  "Waiting for data"])
        curves = re.findall(r'class="series"[^>]* d="([^"]*)"', self.document)
        # Two runs in each chart; training and validation in that of Accuracy,
        # planned rates in that of the rates.
        self.assertEqual(len(curves), 4 * 2 + 4 + 2)
        for curve in curves:
            self.assertRegex(curve, r"^M[\d.]+ [\d.]+L")
            self.assertNotIn("NaN", curve)

    def test_marks_events_and_what_is_not_finite(self):
        self.assertEqual(self.document.count('class="event"'), 5 * 2)
        self.assertEqual(self.document.count('class="lost"'), 2)

    def test_describes_charts_to_those_who_do_not_see_them(self):
        labels = re.findall(r'role="img"[^>]*aria-label="([^"]*)"',
                            self.document)
        self.assertEqual(len(labels), 5)
        self.assertIn("run 1 valid: 0.69", labels[1])

    def test_fits_a_phone(self):
        self.open("--window-size=360,800", "--screenshot=phone.png")
        with open(os.path.join(self.folder.name, "phone.png"), "rb") as file:
            self.assertEqual(file.read(4), b"\x89PNG")


if __name__ == "__main__":
    unittest.main()
