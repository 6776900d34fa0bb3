"""Builds plugins of strangers against an installed prefix, and trains."""
import concurrent.futures
import http.server
import json
import os
import shutil
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from prefix import Prefix, install, run, sanitizers  # pylint: disable=C0413

HERE = os.path.abspath(os.path.dirname(__file__))
GOLDEN = os.path.join(HERE, "collisions.golden")
PLUGINS = ["distillation", "foreign_model", "gradient_noise", "http_metrics",
           "progressive_resizing", "second_warmup", "shrink_perturb", "swa"]


def plugin(name, entry="{}"):
    """The override that adds a plugin with an entry of a recipe."""
    return "+plugins={com.example.%s: %s}" % (name, entry)


def compile_plugin(prefix, name, folder):
    """As the reference of pkg-config's file has it."""
    os.mkdir(os.path.join(folder, name))
    shutil.copy(os.path.join(HERE, name, "plugin.yaml"),
                os.path.join(folder, name))
    library = "%s/%s/libcom_example_%s.so" % (folder, name, name)
    flags = prefix.pkg_config("--cflags", "--libs")
    flags += sanitizers(prefix.file("bin/trainer"))
    return run(["g++", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared",
                os.path.join(HERE, name, name + ".cc"), "-o", library, *flags],
               folder)


class MetricsServer:
    """A real HTTP server that keeps what is posted to it."""

    def __init__(self):
        posts = self.posts = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=C0103
                length = int(self.headers["Content-Length"])
                posts.append((self.path, json.loads(self.rfile.read(length))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        """From here on the port refuses connections."""
        self.server.shutdown()
        self.server.server_close()


class ThirdParty(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = Prefix()
        cls.addClassCleanup(cls.prefix.remove)
        cls.plugins = cls.prefix.folder("plugins")
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            done = list(threads.map(
                lambda name: compile_plugin(cls.prefix, name, cls.plugins),
                PLUGINS))
        for name, (code, output) in zip(PLUGINS, done):
            # -Werror: neither theirs nor our headers warn.
            if code != 0:
                raise AssertionError("%s:\n%s" % (name, output))
        print("%d plugins compiled in %.0f s"
              % (len(PLUGINS), time.monotonic() - begin))

    def train(self, run_name, *overrides, recipe="digits_resnet"):
        """The exit code, all output, and where the run's files are."""
        folder = os.path.join(self.prefix.root, "runs", run_name)
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        code, output = self.prefix.trainer(
            ["--recipe=" + recipe, "--plugin_path=" + self.plugins,
             "--run_dir=" + folder, "epochs=2", *overrides], self.prefix.root)
        return code, output, folder

    def trained(self, *arguments):
        code, output, folder = self.train(self.id(), *arguments)
        self.assertEqual(code, 0, output)
        with open(os.path.join(folder, "result.json"), encoding="utf-8") as f:
            return json.load(f), output, folder

    def metrics(self, folder, **wanted):
        """Lines of metrics.jsonl with these values."""
        with open(os.path.join(folder, "metrics.jsonl"),
                  encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        return [line for line in lines
                if all(line.get(k) == v for k, v in wanted.items())]

    def losses(self, folder):
        return [line["loss"] for line in self.metrics(folder, kind="step")]

    # --- the prefix ----------------------------------------------------------

    def test_the_trainer_takes_everything_from_where_it_was_moved(self):
        _, libraries = run([self.prefix.file("bin/trainer")], self.prefix.root,
                           LD_TRACE_LOADED_OBJECTS="1")
        for name in ["libslipway_core.so", "libtorch_cpu.so", "libc10.so"]:
            line = next(x for x in libraries.split("\n") if name + " =>" in x)
            path = os.path.realpath(line.split("=>")[1].split(" (")[0].strip())
            self.assertEqual(path, os.path.realpath(
                self.prefix.file("lib/" + name)))
        self.assertNotIn("not found", libraries)
        links = [path for folder, folders, files in os.walk(self.prefix.path)
                 for path in [os.path.join(folder, f) for f in folders + files]
                 if os.path.islink(path)]
        # Those of the Bazel repository, to folders of the prefix.
        for link in links:
            self.assertTrue(os.path.realpath(link).startswith(
                os.path.realpath(self.prefix.path) + os.sep), link)

    def test_a_second_installation_changes_what_differs_and_nothing_else(self):
        target = self.prefix.file("share/slipway/recipes/digits_resnet.yaml")
        old = self.prefix.file("share/slipway/old.txt")
        listing = self.prefix.file("share/slipway/installed.txt")
        os.remove(target)
        for path, text in [(old, "of an earlier version\n"),
                           (listing, "share/slipway/old.txt\n")]:
            with open(path, "a", encoding="utf-8") as file:
                file.write(text)
        code, told = install(self.prefix.path)
        self.assertEqual(code, 0, told)
        # The recipe, and the list of what is installed; old.txt has gone.
        self.assertRegex(told, r"\d+ files, 3 of them changed")
        self.assertTrue(os.path.exists(target))
        self.assertFalse(os.path.exists(old))
        _, told = install(self.prefix.path)
        self.assertRegex(told, r"\d+ files, 0 of them changed")

    def test_a_prefix_that_is_a_file_is_refused(self):
        path = self.prefix.file("lib/pkgconfig/slipway.pc")
        code, told = install(path)
        self.assertEqual(code, 2)
        self.assertIn('--prefix="%s" is a file' % path, told)

    def test_the_launcher_finds_the_trainer_beside_it(self):
        folder = self.prefix.folder("launched")
        code, output = run(
            [self.prefix.file("bin/launcher"), "--num_processes=2",
             "--bind=none", "--log_dir=logs", "--", "--recipe=digits_resnet",
             "--plugin_path=" + self.plugins, "--run_dir=run", "epochs=1",
             plugin("gradient_noise")], folder)
        self.assertEqual(code, 0, output)
        with open(os.path.join(folder, "run/result.json"),
                  encoding="utf-8") as file:
            self.assertEqual(json.load(file)["world_size"], 2)

    def test_inspect_tells_of_a_strangers_plugin(self):
        inspect = [self.prefix.file("bin/inspect"),
                   "--plugin_path=" + self.plugins]
        code, told = run([*inspect, "--why", "com.example.swa", "ema"],
                         self.prefix.root)
        self.assertEqual(code, 1, told)
        self.assertIn('"eval_weights" is claimed by', told)
        library = self.plugins + "/swa/libcom_example_swa.so"
        code, told = run([*inspect, "--abi", library, "--json"],
                         self.prefix.root)
        self.assertEqual(code, 0, told)
        self.assertIn('"matches": true', told)

    # --- what hooks suffice for ----------------------------------------------

    def test_gradient_noise_changes_the_losses_and_they_repeat(self):
        noise = plugin("gradient_noise", "{eta: 0.1}")
        _, _, first = self.trained(noise)
        os.rename(first, first + ".first")
        _, _, second = self.trained(noise)
        _, _, without = self.train("without", plugin("gradient_noise",
                                                     "{eta: 0}"))
        self.assertEqual(self.losses(first + ".first"), self.losses(second))
        self.assertNotEqual(self.losses(second), self.losses(without))

    def test_swa_evaluates_its_mean(self):
        result, _, folder = self.trained(plugin("swa"))
        _, _, without = self.train("no_swa")
        # The training is the same, what is evaluated is not.
        self.assertEqual(self.losses(folder), self.losses(without))
        ours = self.metrics(folder, kind="epoch", split="valid", epoch=1)
        plain = self.metrics(without, kind="epoch", split="valid", epoch=1)
        self.assertNotEqual(ours[0]["metrics"], plain[0]["metrics"])
        self.assertGreater(result["metrics"]["final"]["valid"]["Accuracy"], 0.8)

    def test_second_warmup_sets_the_rates(self):
        _, _, folder = self.trained(plugin("second_warmup", "{steps: 20}"))
        rates = [line["lr"]["default"]
                 for line in self.metrics(folder, kind="step")]
        self.assertLess(rates[0], 0.001)
        self.assertLess(rates[0], rates[1])

    def test_distillation_has_a_teacher_and_a_loss_of_its_own(self):
        code, output, teacher = self.train(
            "teacher", "architecture=digits_teacher", "~arch_params")
        self.assertEqual(code, 0, output)
        result, output, _ = self.trained(plugin(
            "distillation",
            "{checkpoint: %s/ckpt_best.pth}" % teacher))
        self.assertIn("Distillation", output)
        self.assertGreater(result["metrics"]["final"]["valid"]["Accuracy"], 0.8)

    def test_distillation_without_its_checkpoint_is_refused(self):
        code, output, _ = self.train(
            "no_teacher", plugin("distillation", "{checkpoint: none.pth}"))
        self.assertEqual(code, 2, output)
        self.assertIn('cannot read "none.pth"', output)

    def test_progressive_resizing_shows_larger_images(self):
        _, _, folder = self.trained(
            plugin("progressive_resizing", "{first: 6, last: 10}"),
            "dataset_params.train_dataset_params.transforms="
            "[{Resize: {size: 8}}, ToTensor,"
            " {Normalize: {mean: 0.305, std: 0.376}}]")
        sizes = [line["detail"]["pixels"] for line in
                 self.metrics(folder, kind="event", name="resized")]
        self.assertEqual(sizes, [6, 10])

    def test_foreign_model_trains_by_its_name(self):
        result, output, _ = self.trained(
            "architecture=mlp_mixer", "~arch_params",
            "+arch_params={num_classes: 10, in_channels: 1, image_size: 8, "
            "patch_size: 2, dim: 32, depth: 2}", "epochs=4",
            "training_hyperparams.optimizer=Adam", "lr=0.003",
            "~training_hyperparams.optimizer_params.momentum")
        self.assertIn("mlp_mixer:", output)
        self.assertGreater(result["metrics"]["final"]["valid"]["Accuracy"], 0.6)

    def test_shrink_perturb_lives_with_ema_while_it_shrinks_little(self):
        result, _, _ = self.trained(plugin("shrink_perturb"), "ema=true")
        self.assertIn("ema", [p["id"] for p in result["plugins"]])

    def conformance(self, name, *arguments):
        return run([self.prefix.file("bin/conformance"), *arguments,
                    os.path.join(self.plugins, name)], self.prefix.root)

    def test_all_pass_what_every_plugin_passes(self):
        # progressive_resizing needs a transform that the checks' data lack, and
        # http_metrics a server.
        for name in sorted(set(PLUGINS) -
                           {"http_metrics", "progressive_resizing"}):
            code, output = self.conformance(name)
            self.assertEqual(code, 0, name + "\n" + output)
        server = MetricsServer()
        recipe = os.path.join(self.prefix.root, "conformance.yaml")
        with open(recipe, "w", encoding="utf-8") as file:
            file.write("plugins: {com.example.http_metrics: {port: %d, "
                       "metric: loss}}\n" % server.port)
        code, output = self.conformance("http_metrics", "--recipe=" + recipe)
        server.stop()
        self.assertEqual(code, 0, output)
        self.assertGreater(len(server.posts), 0)

    # --- a plugin that fails -------------------------------------------------

    def test_http_metrics_posts_each_epoch(self):
        server = MetricsServer()
        self.trained(plugin("http_metrics", "{port: %d}" % server.port))
        server.stop()
        self.assertEqual([(path, post["epoch"]) for path, post in server.posts],
                         [("/metrics", 0), ("/metrics", 1)])
        self.assertGreater(server.posts[1][1]["Accuracy"], 0.5)

    def test_http_metrics_without_a_server_is_left_out_if_it_may_be(self):
        server = MetricsServer()
        server.stop()
        result, output, _ = self.trained(plugin(
            "http_metrics",
            "{config: {port: %d}, on_error: disable}" % server.port))
        self.assertEqual(result["epochs"], 2)
        self.assertEqual(output.count("Connection refused"), 1, output)
        self.assertIn("goes on without this plugin", output)

    def test_http_metrics_without_a_server_ends_the_training_otherwise(self):
        server = MetricsServer()
        server.stop()
        code, output, folder = self.train(
            "no_server", plugin("http_metrics", "{port: %d}" % server.port))
        self.assertEqual(code, 1, output)
        self.assertIn("Connection refused", output)
        with open(os.path.join(folder, "result.json"), encoding="utf-8") as f:
            self.assertEqual(json.load(f)["error"]["plugins"],
                             ["com.example.http_metrics"])

    # --- collisions ----------------------------------------------------------

    def test_collisions_are_told_before_anything_starts(self):
        text = ""
        for arguments in [
                [plugin("swa"), "ema=true"],
                [plugin("second_warmup"),
                 "training_hyperparams.lr_warmup_epochs=1"],
                [plugin("shrink_perturb", "{shrink: 0.4}"), "ema=true"],
                [plugin("progressive_resizing"),
                 "training_hyperparams.torch_compile=true"],
                ["+plugins={com.example.swa: {}, com.example.second_warmup: "
                 "{}}", "ema=true", "training_hyperparams.lr_warmup_epochs=1"]]:
            code, output, folder = self.train("collision", *arguments)
            self.assertEqual(code, 2, output)
            self.assertFalse(os.path.exists(folder))
            text += "%s\n%s\n" % (" ".join(arguments), output)
        text = text.replace(self.plugins, "PLUGINS")
        text = text.replace(self.prefix.path, "PREFIX")
        if os.environ.get("SLIPWAY_UPDATE_GOLDEN"):
            with open(os.path.realpath(GOLDEN), "w", encoding="utf-8") as file:
                file.write(text)
        with open(GOLDEN, encoding="utf-8") as file:
            self.assertEqual(text, file.read())

    # --- CMake ---------------------------------------------------------------

    @unittest.skipUnless(shutil.which("cmake"), "CMake is not installed")
    def test_swa_builds_with_cmake(self):
        build = self.prefix.folder("cmake")
        flags = " ".join(sanitizers(self.prefix.file("bin/trainer")))
        for command in [
                ["cmake", "-S", os.path.join(HERE, "swa"), "-B", build,
                 "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS=" + flags,
                 "-DCMAKE_PREFIX_PATH=" + self.prefix.path],
                ["cmake", "--build", build]]:
            code, output = run(command, self.prefix.root)
            self.assertEqual(code, 0, output)
        code, output = self.prefix.trainer(
            ["--recipe=digits_resnet", "--plugin_path=" + build, "epochs=1",
             plugin("swa")], build)
        self.assertEqual(code, 0, output)


if __name__ == "__main__":
    unittest.main()
