"""The programs that `peers.py` runs: how each is had, called and read. A figure is tokens/s, seconds (load) or MB (memory)."""
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import models
from build import job_count

# What one run of a program measures together.
GROUPS = ("prefill512+decode", "prefill4096", "decode4096", "rows", "load")
ROWS = (1, 2, 4, 8, 16, 32)
ROWS_DEPTH, ROWS_STEPS = 64, 24
CONTEXT_TOKENS = 4096  # for load: the same KV cache for all
DEPTH_TOKENS = 4096
FIRST_PROMPT = "Hello"

LLAMA_PACKAGE, LLAMA_VERSION = "llama-cpp-python", "0.3.36"  # carries llama.cpp's sources in vendor/llama.cpp
LLAMA_TARGETS = ("llama-bench", "llama-batched-bench", "llama-completion", "llama-server")
LLAMA_FLAGS = ["-DCMAKE_BUILD_TYPE=Release", "-DLLAMA_CURL=OFF", "-DBUILD_SHARED_LIBS=OFF", "-DLLAMA_BUILD_TESTS=OFF",
               "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_UI=OFF"]
NATIVE_FLAGS = ["-DGGML_NATIVE=ON"]
AVX2_FLAGS = ["-DGGML_NATIVE=OFF", "-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON", "-DGGML_BMI2=ON"]
OPENVINO_PACKAGES = ["openvino", "openvino-genai", "openvino-tokenizers", "gguf", "numpy"]


class PeerError(Exception):
    """One sentence for the person at the terminal."""


def run(command, **options):
    """A finished program's output, seconds and peak memory in bytes."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        try:
            process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out, stderr=errors,
                                       **options)
        except OSError as error:
            raise PeerError(f"{command[0]}: {error.strerror}") from error
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
        out.seek(0), errors.seek(0)
        text, tail = out.read(), "\n".join(errors.read().splitlines()[-3:])
    if process.returncode != 0:
        raise PeerError(f"{Path(command[0]).name} failed with {process.returncode}: {tail}")
    return text, seconds, usage.ru_maxrss * 1024


def read_through(path):
    """Brings a file into the page cache, so that the first program to load it is not the one that waits for the disk."""
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass


def model_file(name):
    """Of a file, or of a name of ./x model list, which is fetched when it is not there."""
    return Path(name) if Path(name).is_file() else Path(models.get(name))


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def bench_figures(text):
    """Figures of llama-bench's JSON lines, which `takt bench` writes too."""
    figures = {}
    for line in json_lines(text):
        if line["n_gen"] == 0:
            figures[f"prefill {line['n_prompt']}"] = line["avg_ts"]
        else:
            figures["decode" if line["n_depth"] == 0 else f"decode at {line['n_depth']}"] = line["avg_ts"]
    if not figures:
        raise PeerError("the program printed no figures")
    return figures


class BenchProgram:
    """A program with llama-bench's options."""

    def __init__(self, name, threads, decode_tokens):
        self.name, self.threads, self.decode_tokens = name, threads, decode_tokens

    def measure(self, group, path):
        if group == "rows":
            return self.rows(path)
        if group == "load":
            read_through(path)
            return self.load(path)
        # At 4,096 tokens a warm-up would take as long as the run, which warms itself.
        tests = {"prefill512+decode": ["-p", 512, "-n", self.decode_tokens],
                 "prefill4096": ["-p", DEPTH_TOKENS, "-n", 0, "--no-warmup"],
                 "decode4096": ["-p", 0, "-n", self.decode_tokens, "-d", DEPTH_TOKENS, "--no-warmup"]}
        command = [*self.bench_command(path), "-t", self.threads, "-r", 1, "-o", "jsonl", *tests[group]]
        return bench_figures(run(command)[0])

    def load_figures(self, command):
        _, seconds, peak_bytes = run(command)
        return {"load": seconds, "memory": peak_bytes / 1e6}


class Takt(BenchProgram):
    def __init__(self, program, threads, decode_tokens, kernels):
        super().__init__("takt", threads, decode_tokens)
        self.program, self.kernels = program, ["--kernels", kernels] if kernels else []

    def machine(self):
        return json.loads(run([self.program, "bench", "roofline", "--json"])[0])["machine"]

    def bench_command(self, path):
        return [self.program, "bench", path, *self.kernels]

    def rows(self, path):
        text, _, _ = run([self.program, "bench", "rows", path, *self.kernels, "--rows", ",".join(map(str, ROWS)), "-d", ROWS_DEPTH,
                          "--steps", ROWS_STEPS, "-r", 1, "-t", self.threads, "--json"])
        return {f"rows {point['rows']}": point["tokens_per_s"] for point in json.loads(text)["points"]}

    def load(self, path):
        return self.load_figures([self.program, "run", path, *self.kernels, "--raw", FIRST_PROMPT, "-n", 1, "-t", self.threads,
                                  "--ctx", CONTEXT_TOKENS])


class LlamaCpp(BenchProgram):
    """llama.cpp or a relative of it: a folder with its programs."""

    def __init__(self, name, folder, threads, decode_tokens):
        super().__init__(name, threads, decode_tokens)
        self.folder = folder
        if not (folder / "llama-bench").is_file():
            raise PeerError(f"{folder} has no llama-bench; give the folder that has")

    def bench_command(self, path):
        return [self.folder / "llama-bench", "-m", path]

    def rows(self, path):
        text, _, _ = run([self.folder / "llama-batched-bench", "-m", path, "-t", self.threads, "-c", CONTEXT_TOKENS,
                          "-npp", ROWS_DEPTH, "-ntg", ROWS_STEPS, "-npl", ",".join(map(str, ROWS)), "--output-format", "jsonl"])
        figures = {f"rows {line['pl']}": line["speed_tg"] for line in json_lines(text) if "speed_tg" in line}
        if not figures:
            raise PeerError("llama-batched-bench printed no figures")
        return figures

    def load(self, path):
        for name in ("llama-completion", "llama-cli"):
            if (self.folder / name).is_file():
                return self.load_figures([self.folder / name, "-m", path, "-t", self.threads, "-c", CONTEXT_TOKENS, "-p",
                                          FIRST_PROMPT, "-n", 1, "-no-cnv", "--no-warmup"])
        raise PeerError(f"{self.folder} has neither llama-completion nor llama-cli")


def peer_folder():
    return models.cache_folder() / "peers"


def build_llama_cpp(is_avx2):
    """The folder of llama.cpp's programs, fetched and built when they are not there."""
    top = peer_folder() / f"llama.cpp-{LLAMA_VERSION}"
    build = top / ("build-avx2" if is_avx2 else "build")
    if all((build / "bin" / target).is_file() for target in LLAMA_TARGETS):
        return build / "bin"
    source = llama_source(top)
    print(f"building llama.cpp in {build}: about 15 minutes on two cores, once", file=sys.stderr)
    quiet_run(["cmake", "-S", source, "-B", build, "-G", "Ninja", *LLAMA_FLAGS, *(AVX2_FLAGS if is_avx2 else NATIVE_FLAGS)])
    quiet_run(["cmake", "--build", build, "-j", job_count(), "--target", *LLAMA_TARGETS])
    return build / "bin"


def llama_source(top):
    source = top / "source"
    if source.is_dir():
        return source
    top.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=top) as folder:
        print(f"fetching {LLAMA_PACKAGE} {LLAMA_VERSION}, which carries llama.cpp's sources", file=sys.stderr)
        quiet_run([*models.pip_command(), "download", "--no-deps", "--no-binary", LLAMA_PACKAGE, "--no-cache-dir", "--dest",
                   folder, f"{LLAMA_PACKAGE}=={LLAMA_VERSION}"])
        archives = list(Path(folder).glob("*.tar.gz"))
        if not archives:
            raise PeerError(f"{LLAMA_PACKAGE} {LLAMA_VERSION} came without sources")
        with tarfile.open(archives[0]) as archive:
            archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        found = list(Path(folder).glob("*/vendor/llama.cpp"))
        if not found:
            raise PeerError(f"{LLAMA_PACKAGE} {LLAMA_VERSION} has no vendor/llama.cpp")
        found[0].rename(source)
    return source


def quiet_run(command):
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise PeerError("\n".join(done.stdout.splitlines()[-15:]) + f"\n{command[0]} failed; its last lines are above.")


class OpenVino:
    """OpenVINO GenAI in a virtual environment of its own."""

    name = "OpenVINO"

    def __init__(self, threads, decode_tokens):
        self.threads, self.decode_tokens = threads, decode_tokens
        self.python = peer_folder() / "openvino/bin/python"
        if not self.python.exists():
            quiet_run([sys.executable, "-m", "venv", "--clear", self.python.parent.parent])
            try:
                quiet_run([self.python, "-m", "pip", "install", "--quiet", *OPENVINO_PACKAGES])
            except PeerError:
                shutil.rmtree(self.python.parent.parent)
                raise

    def measure(self, group, path):
        if group in ("rows", "load"):
            return {}
        arguments = {"prefill512+decode": [512, self.decode_tokens], "prefill4096": [DEPTH_TOKENS, 0],
                     "decode4096": [DEPTH_TOKENS, self.decode_tokens]}[group]
        text, _, _ = run([self.python, Path(__file__).with_name("peer_openvino.py"), path, self.threads, *arguments])
        figures = json.loads(text.splitlines()[-1])
        if group == "decode4096":
            return {"decode at 4096": figures["decode"]}
        return {f"prefill {arguments[0]}": figures["prefill"], **({"decode": figures["decode"]} if arguments[1] else {})}
