"""Looks for faults that tests alone do not show: ``python tests/sanitize/run.py [STEP ...]``, all by default.

    kernels   the tests of `crates/kernels` with the address sanitizer, at each CPU level of this machine
    buffers   every public member at each level, and tests of text in and ids out, with an extension that is
              built for the address sanitizer
    loom      workers, their budget, parts of a result, and what is made once: orders of threads' steps
    threads   the tests of workers and threads with the thread sanitizer
    memcheck  every public member once, at each CPU level that valgrind knows, in valgrind

A step ends at its first finding, and the exit code is 1. Where something is missing, a line says what,
nothing is run, and the exit code is 2. Builds are kept in `target/sanitize/`, each kind in its own folder.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve() / "sanitize"
# Named, so that build scripts and macros, which run while others are built, are built as always.
TRIPLE = "x86_64-unknown-linux-gnu"
ADDRESS = "-Zsanitizer=address"
# The standard library is not built for the sanitizer (`thread.supp` says what follows from that). Atomics are
# inlined into our code, and seen; so are locks as long as nobody waits for them.
THREAD = "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer"
# Tests ask for more memory than there is, and expect a refusal. Python frees little at its end.
ASAN_OPTIONS = "allocator_may_return_null=1:detect_leaks=0"

BUFFERS = [
    "tests/unit/test_text_in_ids_out.py",
    "tests/unit/test_arrow_columns.py",
    "tests/unit/test_arrow_structures.py",
    "tests/unit/test_ragged.py",
    "tests/unit/test_encode_and_decode.py",
    "tests/unit/test_read_once.py",
    "tests/cli/test_npy.py",
]
"""Tests of what reads memory of Python, numpy and Arrow, and writes ids and offsets there."""

THREADS = ["threads", "worker", "blocks", "at_once", "made_once", "reorder_buffer", "recognizer"]
"""Parts of names of tests that run threads, or what threads share."""


class MissingError(Exception):
    """Something that a step needs is not there."""


class FindingError(Exception):
    """A step found something."""


# ---- what is there ----------------------------------------------------------------------------


def output(*command: str) -> str | None:
    """What a program says, or nothing where it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def need_linux() -> None:
    """The sanitizers are there for other systems, too; these steps are not."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise MissingError("this runs on Linux with an x86-64 processor only")


def need_nightly() -> None:
    """Only a nightly compiler has sanitizers."""
    if output("rustup", "run", "nightly", "rustc", "--version") is None:
        raise MissingError("there is no nightly compiler: rustup toolchain install nightly")


def need_tool(name: str, package: str) -> None:
    """A program of the system."""
    if shutil.which(name) is None:
        raise MissingError(f"{name} is not installed: it comes with the package {package}")


def levels() -> list[str]:
    """The CPU levels of this machine, as `crates/kernels/src/cpu.rs` has them."""
    lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    flags = next((set(line.split()) for line in lines if line.startswith("flags")), set())
    found = ["portable"]
    if {"avx2", "bmi1", "bmi2", "abm", "popcnt"} <= flags:
        found.append("avx2")
        if {"avx512f", "avx512bw", "avx512vl"} <= flags:
            found.append("avx512")
    return found


# ---- running ----------------------------------------------------------------------------------


def run(*command: str | Path, env: Mapping[str, str] | None = None) -> None:
    """Run a program, which is to succeed."""
    words = [str(word) for word in command]
    print("$", *words, flush=True)
    done = subprocess.run(words, cwd=ROOT, env={**os.environ, **(env or {})}, check=False)
    if done.returncode != 0:
        raise FindingError(f"{words[0]} ended with {done.returncode}")


def cargo(kind: str, *arguments: str, flags: str = "", env: Mapping[str, str] | None = None) -> None:
    """Run cargo, with the nightly compiler where there are flags for a sanitizer."""
    settings = {"CARGO_TARGET_DIR": str(TARGET / kind), "PYO3_PYTHON": sys.executable, **(env or {})}
    nightly = []
    if flags:
        settings["RUSTFLAGS"] = flags
    if "-Z" in flags:
        nightly = ["+nightly"]
        arguments = (arguments[0], "--target", TRIPLE, *arguments[1:])
    run("cargo", *nightly, arguments[0], "--locked", *arguments[1:], env=settings)


def package(kind: str, flags: str = "") -> Path:
    """A folder with the package as it is, and an extension that is built for it."""
    cargo(kind, "build", "-p", "tokenmill-python", "--features", "pyo3/extension-module", flags=flags)
    folder = TARGET / kind / "package"
    shutil.rmtree(folder, ignore_errors=True)
    skipped = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "python" / "tokenmill", folder / "tokenmill", ignore=skipped)
    built = TARGET / kind / (TRIPLE if flags else ".") / "debug" / "lib_core.so"
    shutil.copy(built, folder / "tokenmill" / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}")
    return folder


def address_runtime() -> Path:
    """The run-time library of the compiler's address sanitizer, as one that can be loaded before Python.

    The compiler has it as an archive for whole programs. All of it but the hook for the start of a program,
    which only a program may have, makes a shared library. It must not be called `libasan.so`: what comes from
    this archive takes a library of that name for a second sanitizer.
    """
    root = output("rustup", "run", "nightly", "rustc", "--print", "sysroot")
    folder = Path(root or "") / "lib" / "rustlib" / TRIPLE / "lib"
    archives = sorted(folder.glob("librustc*_rt.asan.a"))
    if not archives:
        raise MissingError(f"the nightly compiler has no address sanitizer in {folder}")
    copy, library = TARGET / "address" / "runtime.a", TARGET / "address" / "runtime.so"
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(archives[0], copy)
    hooks = [name for name in (output("ar", "t", str(copy)) or "").splitlines() if "preinit" in name]
    if hooks:
        run("ar", "d", copy, *hooks)
    whole = ["-Wl,--whole-archive", str(copy), "-Wl,--no-whole-archive"]
    run("cc", "-shared", "-o", library, *whole, "-lpthread", "-ldl", "-lrt", "-lm", "-lstdc++")
    return library


# ---- the steps --------------------------------------------------------------------------------


def kernels() -> None:
    """The tests of `crates/kernels` with the address sanitizer, at each level."""
    for level in levels():
        print(f"level {level}", flush=True)
        env = {"TOKENMILL_LEVEL": level, "ASAN_OPTIONS": ASAN_OPTIONS}
        cargo("address", "test", "-p", "tokenmill-kernels", "--lib", flags=ADDRESS, env=env)


def buffers() -> None:
    """Tests of what reads and writes memory of Python, with an extension for the address sanitizer."""
    folder = package("address", ADDRESS)
    env = {
        "LD_PRELOAD": str(address_runtime()),
        "ASAN_OPTIONS": ASAN_OPTIONS,
        # Python's own allocator would hand out parts of blocks, whose ends nobody watches.
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": str(folder),
    }
    # What would see nothing would find nothing: one byte too many has to end a process.
    beyond = "import ctypes; b = ctypes.create_string_buffer(64); ctypes.memset(b, 0, 65)"
    probe = subprocess.run(
        [sys.executable, "-c", beyond], env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    if "heap-buffer-overflow" not in probe.stderr:
        raise FindingError(f"the sanitizer does not see a write beyond a buffer:\n{probe.stderr}")
    core = f"import tokenmill; assert tokenmill.__file__.startswith({str(folder)!r}), tokenmill.__file__"
    run(sys.executable, "-c", core, env=env)
    for level in levels():
        run(sys.executable, HERE / "entry_points.py", level, env=env)
    run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *BUFFERS, env=env)


def loom() -> None:
    """What threads share, in every order of their steps, within bounds for large models."""
    for crate in ("kernels", "core"):
        cargo("loom", "test", "-p", f"tokenmill-{crate}", "--lib", "every_order", flags="--cfg loom")


def threads() -> None:
    """The tests of workers and threads with the thread sanitizer."""
    env = {"TSAN_OPTIONS": f"suppressions={HERE / 'thread.supp'}"}
    # One test after the other, so that threads are those of a test.
    tests = ["--lib", "--", "--test-threads=1", *THREADS]
    for crate in ("kernels", "core"):
        cargo("thread", "test", "-p", f"tokenmill-{crate}", *tests, flags=THREAD, env=env)


KEPT = {
    "create_type_object": "pyo3 keeps what defines a class as long as the process lives",
    "insert_shared": "so do the bindings of numpy with what all modules share",
}
"""Single pieces of memory that memcheck takes for lost, by a part of the name of who allocates them."""


def findings(path: Path) -> Iterator[str]:
    """What memcheck says where our extension has a part in it."""
    for error in ET.parse(path).getroot().iter("error"):
        # The first stack is that of the error; others say where memory is from.
        frames = list(next(error.iter("stack")).iter("frame"))
        names = [frame.findtext("fn", "?") for frame in frames]
        if not any(Path(frame.findtext("obj", "")).name.startswith("_core.") for frame in frames):
            continue
        if error.findtext("kind", "").startswith("Leak") and any(
            part in name for part in KEPT for name in names
        ):
            continue
        places = [f"{frame.findtext('file', '?')}:{frame.findtext('line', '?')}" for frame in frames]
        what = error.findtext("what") or error.findtext("xwhat/text") or "an error"
        stack = [f"    {name} ({place})" for name, place in zip(names, places, strict=True)]
        yield "\n".join([what, *stack])


def memcheck() -> None:
    """Every public member in valgrind, which has no AVX-512: the levels below that."""
    folder = package("memcheck")
    env = {"PYTHONMALLOC": "malloc", "PYTHONPATH": str(folder)}
    for level in levels():
        if level == "avx512":
            continue
        report = TARGET / "memcheck" / f"{level}.xml"
        valgrind = ["valgrind", "--quiet", "--error-limit=no", "--num-callers=40"]
        valgrind += ["--leak-check=full", "--show-leak-kinds=definite", "--xml=yes", f"--xml-file={report}"]
        run(*valgrind, sys.executable, HERE / "entry_points.py", level, env=env)
        found = list(findings(report))
        print(f"level {level}: {len(found)} findings", flush=True)
        if found:
            raise FindingError("\n\n".join(found))


STEPS: dict[str, tuple[Callable[[], None], list[Callable[[], None]]]] = {
    "kernels": (kernels, [need_nightly]),
    "buffers": (
        buffers,
        [need_nightly, lambda: need_tool("cc", "gcc"), lambda: need_tool("ar", "binutils")],
    ),
    "loom": (loom, []),
    "threads": (threads, [need_nightly]),
    "memcheck": (memcheck, [lambda: need_tool("valgrind", "valgrind")]),
}
"""Each step, and what it needs."""


def main() -> int:
    """Runs the steps one after the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("steps", nargs="*", metavar="STEP", help=", ".join(STEPS))
    chosen = parser.parse_args().steps or [*STEPS]
    unknown = [step for step in chosen if step not in STEPS]
    if unknown:
        parser.error(f"{unknown[0]} is none of {', '.join(STEPS)}")
    try:
        need_linux()
        for step in chosen:
            for need in STEPS[step][1]:
                need()
    except MissingError as missing:
        print(f"sanitize: {missing}", file=sys.stderr)
        return 2
    found = 0
    for step in chosen:
        print(f"---- {step}", flush=True)
        start = time.perf_counter()
        try:
            STEPS[step][0]()
        except MissingError as missing:
            print(f"sanitize: {missing}", file=sys.stderr)
            return 2
        except FindingError as finding:
            found += 1
            print(f"---- {step}: {finding}", flush=True)
        else:
            print(f"---- {step}: nothing found, {time.perf_counter() - start:.0f} s", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
