#!/usr/bin/env python3
"""bench/peers with made-up engines: the numbers it takes from them, its ratios and its refusals."""
import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "peers")

# What the engines print: rates that tell which case was asked for.
QUERN = r'''
import json, sys
a = sys.argv[1:]
value = lambda name: a[a.index(name) + 1] if name in a else None
if a[0] == "perplexity":
    print(json.dumps({"perplexity": PERPLEXITY}))
elif a[0] == "bench":
    assert "--no-parity-gate" in a and value("--threads") == "3"
    rate = 1000.0 if value("--activations") == "int8" else 500.0
    batch = float(value("--batch") or 1)
    print(json.dumps({"results": [
        {"kind": "prefill", "tokens_per_second": rate},
        {"kind": "decode", "tokens_per_second": rate / 10 * batch}]}))
elif a[0] == "run":
    print("text")
'''
LLAMA_BENCH = r'''
import json, sys
a = sys.argv[1:]
print("log line")
is_prefill = a[a.index("-n") + 1] == "0"
print(json.dumps({"n_prompt": 512, "avg_ts": 400.0 if is_prefill else 50.0}))
'''
LLAMA_BATCHED = 'import json; print(json.dumps({"speed_tg": 160.0}))'
LLAMA_PERPLEXITY = 'import sys; sys.stderr.write("Final estimate: PPL = 10.0500 +/- 0.1\\n")'


# The program of users: it must not be told to leave its warm-up out.
LLAMA_COMPLETION = r'''
import sys, time
a = sys.argv[1:]
assert "--no-warmup" not in a and a[a.index("-n") + 1] == "1" and a[a.index("-t") + 1] == "3"
print("text", flush=True)
time.sleep(5.0)
'''


class PeersTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = self.temporary.name
        self.model = self.path("some.q4_0.gguf")
        with open(self.model, "wb") as file:
            file.write(b"x" * 1000)
        with open(self.path("text"), "w", encoding="utf-8") as file:
            file.write("words")
        self.add("quern", QUERN.replace("PERPLEXITY", "10.0"))
        os.mkdir(self.path("bin"))
        self.add("bin/llama-bench", LLAMA_BENCH)
        self.add("bin/llama-batched-bench", LLAMA_BATCHED)
        self.add("bin/llama-perplexity", LLAMA_PERPLEXITY)

    def tearDown(self):
        self.temporary.cleanup()

    def path(self, name):
        return os.path.join(self.folder, name)

    def add(self, name, source):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(f"#!{sys.executable}\n{source}")
        os.chmod(self.path(name), stat.S_IRWXU)

    def peers(self, *more, has_text=True):
        text = ["--text", self.path("text")] if has_text else []
        command = [sys.executable, PEERS, "--llama", self.folder, "--quern", self.path("quern"),
                   "--folder", self.path("made"), "--shapes", "", "--threads", "3",
                   "--repetitions", "1", "--models", self.model, *text, *more]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def results(self, *more):
        done = self.peers("--json", *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        return {result["metric"]: result["values"] for result in report["results"]}, report

    def test_takes_the_rates_of_each_engine(self):
        values, _ = self.results("--metrics", "prefill,decode,batch8")
        self.assertEqual(values["prefill"],
                         {"quern int8": 1000.0, "quern int16": 500.0, "llama.cpp": 400.0})
        self.assertEqual(values["decode"],
                         {"quern int8": 100.0, "quern int16": 50.0, "llama.cpp": 50.0})
        self.assertEqual(values["batch8"]["quern int8"], 800.0)
        self.assertEqual(values["batch8"]["llama.cpp"], 160.0)

    def test_load_ends_with_the_first_output(self):
        self.add("bin/llama-completion", LLAMA_COMPLETION)
        values, _ = self.results("--metrics", "load", "--activations", "int8")
        self.assertLess(values["load"]["llama.cpp"], 5.0)
        self.assertGreater(values["load"]["quern int8"], 0.0)

    def test_load_takes_the_bench_program_where_there_is_no_other(self):
        values, _ = self.results("--metrics", "load", "--activations", "int8")
        self.assertGreater(values["load"]["llama.cpp"], 0.0)

    def test_a_failing_program_is_named(self):
        self.add("bin/llama-completion", "import sys; sys.exit(3)")
        done = self.peers("--metrics", "load")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("llama-completion", done.stderr)

    def test_prints_ratios(self):
        done = self.peers("--metrics", "prefill", "--activations", "int8")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2.50x", done.stdout)

    def test_measures_loading_and_memory(self):
        values, _ = self.results("--metrics", "load,memory", "--activations", "int8")
        for name in ("quern int8", "llama.cpp"):
            self.assertGreater(values["load"][name], 0)
            self.assertGreater(values["memory"][name], 0)

    def test_perplexities_within_one_percent_pass(self):
        _, report = self.results("--metrics", "prefill")
        self.assertEqual(report["perplexities"]["some.q4_0.gguf"]["llama.cpp"], 10.05)

    def test_perplexities_further_apart_end_it(self):
        self.add("quern", QUERN.replace("PERPLEXITY", "10.2"))
        done = self.peers("--metrics", "prefill")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("more than 1 % apart", done.stderr)

    def test_real_models_are_not_timed_without_a_text_to_agree_on(self):
        done = self.peers("--metrics", "prefill", has_text=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--models needs --text", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_a_peer_that_fails_ends_it_with_what_it_said(self):
        self.add("bin/llama-bench", 'import sys; sys.exit("no such model")')
        done = self.peers("--metrics", "prefill")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no such model", done.stderr)

    def test_a_missing_program_and_an_unknown_metric_are_named(self):
        os.remove(self.path("bin/llama-batched-bench"))
        self.assertIn("llama-batched-bench", self.peers("--metrics", "batch8").stderr)
        self.assertIn("'speed' is not a metric", self.peers("--metrics", "speed").stderr)


if __name__ == "__main__":
    unittest.main()
