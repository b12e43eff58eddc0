#!/usr/bin/env python3
"""Compares dense operations of Quern's cpu backend with PyTorch on the same machine.

Needs PyTorch for CPUs (pip install torch) and the bench `dense_bench` (cmake --preset bench). Both
run alternately, each in short stretches on the same threads; medians and the ratio PyTorch time to
Quern time are printed: above 1 Quern is faster. Results are compared before they are timed.

  bench/backends/cpu/dense/compare_torch.py build/bench/bench/backends/cpu/dense/dense_bench [--threads 1 2]
      [--match TEXT ...] [--rounds 5] [--seconds 0.15] [--markdown]
"""
import argparse
import statistics
import subprocess
import sys
import time

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    print("compare_torch: skipped, PyTorch is not installed (pip install torch).")
    sys.exit(0)

DTYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16}
UNARY = {
    "relu": torch.relu, "exp": torch.exp, "log": torch.log, "tanh": torch.tanh,
    "erf": torch.erf, "sigmoid": torch.sigmoid, "sin": torch.sin, "cos": torch.cos,
    "gelu": F.gelu, "silu": F.silu, "sqrt": torch.sqrt,
}
ROWS = {
    "softmax": lambda x: torch.softmax(x, 1),
    "log_softmax": lambda x: torch.log_softmax(x, 1),
    "rmsnorm": lambda x: F.rms_norm(x, x.shape[1:], eps=1e-5),
    "layernorm": lambda x: F.layer_norm(x, x.shape[1:]),
    "argmax": lambda x: torch.argmax(x, 1),
}
REDUCED = {"all": (0, 1), "rows": 1, "columns": 0}


def torch_case(name):
    """What runs the case `name` once in PyTorch, or None where PyTorch has nothing like it."""
    words = name.split()
    op, rest = words[0], words[2:]
    dtype = DTYPES.get(words[1])
    sizes = [int(w) for w in rest if w.isdigit()]
    if op == "matmul":
        a, b = (torch.randn(sizes[0], sizes[0]).to(dtype) for _ in range(2))
        out = torch.empty_like(a)
        return lambda: torch.mm(a, b, out=out)
    if op in ("add", "mul"):
        a, b = (torch.randn(sizes[0], dtype=dtype) for _ in range(2))
        return lambda: a + b if op == "add" else a * b
    if op == "muladdrelu":
        a, b, c = (torch.randn(sizes[0], dtype=dtype) for _ in range(3))
        return lambda: torch.relu(torch.addcmul(c, a, b))
    if op in UNARY:
        x = torch.randn(sizes[0], dtype=dtype)
        if op in ("log", "sqrt"):
            x = x.abs() + 0.01
        return lambda: UNARY[op](x)
    if op in ROWS:
        x = torch.randn(sizes[0], sizes[1], dtype=dtype)
        return lambda: ROWS[op](x)
    if op in ("sum", "max"):
        x = torch.randn(sizes[0], sizes[1], dtype=dtype)
        axes = REDUCED[rest[2]]
        return lambda: torch.sum(x, axes) if op == "sum" else torch.amax(x, axes)
    if op == "conv2d":
        batch, inputs, outputs, size, kernel = sizes
        x = torch.randn(batch, inputs, size, size, dtype=dtype)
        weight = torch.randn(outputs, inputs, kernel, kernel, dtype=dtype)
        return lambda: F.conv2d(x, weight, padding=kernel // 2)
    if op == "maxpool":
        batch, channels, size, kernel, stride = sizes
        x = torch.randn(batch, channels, size, size, dtype=dtype)
        return lambda: F.max_pool2d(x, kernel, stride)
    if op == "groupnorm":
        batch, channels, size, groups = sizes
        x = torch.randn(batch, channels, size, size, dtype=dtype)
        weight, bias = torch.randn(channels, dtype=dtype), torch.randn(channels, dtype=dtype)
        return lambda: F.group_norm(x, groups, weight, bias)
    if op == "fft":
        x = torch.randn(sizes[0], dtype=torch.complex64)
        return lambda: torch.fft.fft(x)
    return None


def median_microseconds(seconds, f):
    """As dense_bench: one run to warm up, then the median of at least three."""
    f()
    times = []
    start = time.perf_counter()
    while len(times) < 3 or time.perf_counter() - start < seconds:
        begin = time.perf_counter()
        f()
        times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times)


class Quern:
    """dense_bench --serve: a line in, a line out; it sleeps in between."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "--serve"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def time(self, name, threads, seconds):
        self.process.stdin.write(f"{threads} {seconds} {name}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        return answer if answer.startswith("error") else float(answer)


def compare(quern, name, threads, arguments):
    run = torch_case(name)
    if run is None:
        return
    torch.set_num_threads(threads)
    own, peer = [], []
    for _ in range(arguments.rounds):
        answer = quern.time(name, threads, arguments.seconds)
        if isinstance(answer, str):
            print(f"{name:36} {threads}  {answer}")
            return
        own.append(answer)
        peer.append(median_microseconds(arguments.seconds, run))
    ratio = statistics.median(p / o for o, p in zip(own, peer))
    times = statistics.median(own), statistics.median(peer)
    if arguments.markdown:
        print(f"| {name} | {threads} | {times[0]:,.0f} | {times[1]:,.0f} | {ratio:.2f} |", flush=True)
    else:
        print(f"{name:36} {threads:7} {times[0]:12.1f} {times[1]:12.1f} {ratio:8.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="path of dense_bench")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--match", nargs="+", default=[""], help="cases that hold one of these")
    parser.add_argument("--markdown", action="store_true", help="rows of a Markdown table")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.15)
    arguments = parser.parse_args()
    names = subprocess.run([arguments.program, "--list"], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    quern = Quern(arguments.program)
    isa = subprocess.run([arguments.program, "--describe"], capture_output=True, text=True,
                         check=True).stdout.strip()
    print(f"# {isa}; PyTorch {torch.__version__}; medians of {arguments.rounds} rounds, microseconds",
          flush=True)
    if arguments.markdown:
        print("| case | threads | Quern | PyTorch | ratio |\n|---|---|---|---|---|")
    else:
        print(f"{'case':36} threads        Quern      PyTorch    ratio")
    with torch.inference_mode():
        for name in names:
            for threads in arguments.threads:
                if any(text in name for text in arguments.match):
                    compare(quern, name, threads, arguments)


if __name__ == "__main__":
    main()
