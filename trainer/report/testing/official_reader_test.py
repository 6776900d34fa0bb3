"""Reads the files of a killed and resumed run with TensorBoard's own reader."""
import os
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(sys.argv.pop(1))))
if sys.version_info[:2] != (3, 11):
    sys.exit("the pinned wheels of TensorBoard's reader are for Python 3.11, "
             "this is %d.%d" % sys.version_info[:2])
sys.path.insert(0, PACKAGES)

from tensorboard.backend.event_processing import event_accumulator  # noqa: E402


def read(folder):
    """Each tag's (step, value) pairs."""
    reader = event_accumulator.EventAccumulator(
        folder, size_guidance={event_accumulator.TENSORS: 0,
                               event_accumulator.SCALARS: 0})
    reader.Reload()
    scalars = {tag: [(event.step, event.value) for event in reader.Scalars(tag)]
               for tag in reader.Tags()["scalars"]}
    return reader, scalars


class OfficialReaderTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_part(self, part):
        return subprocess.run([PROGRAM, self.folder, part],
                              check=False).returncode

    def test_reads_past_a_cut_record(self):
        self.assertEqual(self.run_part("first"), -signal.SIGKILL)
        _, scalars = read(self.folder)
        self.assertEqual(scalars["step/loss"],
                         [(step, step) for step in range(10, 151, 10)])
        self.assertNotIn("cut", scalars)

    def test_sees_each_step_once_after_a_resume(self):
        self.run_part("first")
        self.assertEqual(self.run_part("second"), 0)
        reader, scalars = read(self.folder)
        self.assertEqual(
            scalars["step/loss"],
            [(step, step) for step in range(10, 101, 10)] +
            [(step, 1000 + step) for step in range(110, 201, 10)])
        self.assertEqual([step for step, _ in scalars["train_accuracy"]],
                         [0, 1, 2, 3])
        self.assertAlmostEqual(scalars["train_accuracy"][1][1], 0.05)
        self.assertAlmostEqual(scalars["train_accuracy"][2][1], 0.575)
        self.assertEqual([step for step, _ in scalars["lr"]], [0, 1, 2, 3])
        self.assertEqual(scalars["train_inference_time"][0], (0, 250.0))
        self.assertEqual(reader.file_version, 2)

    def test_forgets_what_it_had_read_when_the_run_goes_on(self):
        self.run_part("first")
        reader, _ = read(self.folder)
        self.run_part("second")
        reader.Reload()
        self.assertEqual([event.step for event in reader.Scalars("step/loss")],
                         list(range(10, 201, 10)))

    def test_shows_the_recipe_as_a_text(self):
        self.run_part("first")
        self.run_part("second")
        reader, _ = read(self.folder)
        texts = reader.Tensors("hyper_params/text_summary")
        self.assertEqual(len(texts), 1)
        self.assertIn(b'"a":&nbsp;1', texts[0].tensor_proto.string_val[0])
        metadata = reader.SummaryMetadata("hyper_params/text_summary")
        self.assertEqual(metadata.plugin_data.plugin_name, "text")


if __name__ == "__main__":
    unittest.main()
