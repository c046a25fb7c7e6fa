# Needs python3 (with venv) and cargo. Everything else goes into .venv, once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MATURIN := env -u CONDA_PREFIX VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin

# A profile of Cargo.toml: what wheels are built with takes longer to build, and is what the benchmark measures.
profile := quick
bench wheel: profile := release
DEVELOP = $(MATURIN) develop --profile $(profile)

# pip speaks of errors only, whoever calls it.
export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Stamps say what is done: the environment made, the extension built, the tools and the libraries of the
# benchmark, and Ray and Spark, installed.
MADE := $(VENV)/.made
BUILT := $(VENV)/.built
TOOLS := $(VENV)/.tools
PEERS := $(VENV)/.peers
ENGINES := $(VENV)/.engines
SOURCES := $(shell find crates -type f 2>/dev/null) Cargo.toml Cargo.lock pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help venv build demo test test-slow test-engines check bench wheel fuzz sanitize clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(BUILT) $(TOOLS)  ## make .venv with the package, the test tools and the libraries we compare with

build: $(BUILT)  ## build the package into .venv

demo: $(BUILT)  ## train on Python's standard library, save, load, prove the round trip
	$(BIN)/tokenmill demo

test: $(BUILT) $(TOOLS)  ## tests of Rust and Python, but for the slow ones
	PYO3_PYTHON=$(abspath $(BIN)/python) cargo test --locked
	$(BIN)/python -m pytest -W error -n auto --maxprocesses=4

test-slow: $(BUILT) $(TOOLS)  ## every test, the slow ones too
	TOKENMILL_SLOW=1 PYO3_PYTHON=$(abspath $(BIN)/python) cargo test --locked
	TOKENMILL_SLOW=1 $(BIN)/python -m pytest -W error --slow -n auto --maxprocesses=4

test-engines: $(BUILT) $(TOOLS) $(ENGINES)  ## tests on real Ray and Spark (needs Java 17 or newer; as root it is installed)
	$(BIN)/python tests/engines/find_java.py
	$(BIN)/python -m pytest -W error --engines tests/engines

check: $(BUILT) $(TOOLS)  ## formatting, lints, types, stubs, workflows
	cargo fmt --all --check
	PYO3_PYTHON=$(abspath $(BIN)/python) cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo check --locked --manifest-path fuzz/Cargo.toml --lib --no-default-features
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict python/tokenmill tests bench fuzz .ci
	$(BIN)/python -m mypy.stubtest tokenmill._core
	$(BIN)/python tests/stub_docs.py --check
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml

bench: $(BUILT) $(TOOLS) $(PEERS)  ## speed beside the other libraries: the short form, about 3 minutes
	$(DEVELOP)
	$(BIN)/python bench/compare.py --quick

# Where they go, and what they are for: interpreters="python3.10 python3.13".
dist ?= dist
interpreters ?= $(BIN)/python

wheel: $(MADE)  ## an sdist, and from it a wheel: interpreters="python3.10 python3.13" for several
	$(MATURIN) build --profile $(profile) --locked --sdist --out $(dist) --interpreter $(interpreters)
	$(BIN)/python -m pip install "zopfli>=0.4,<1"
	$(BIN)/python .ci/shrink_wheel.py $(dist)/*.whl

# For all targets together.
minutes ?= 15

fuzz: $(BUILT)  ## look for inputs that break a law: minutes=15 (needs a nightly compiler and cargo-fuzz)
	$(BIN)/python fuzz/seeds.py
	$(BIN)/python fuzz/run.py --minutes $(minutes)

# Steps, by name: all where none is named.
only ?=

sanitize: $(BUILT) $(TOOLS)  ## tests under sanitizers, loom and valgrind: only=kernels for one step (needs a nightly compiler)
	$(BIN)/python tests/sanitize/run.py $(only)

clean:  ## remove what was made
	rm -rf target fuzz/target fuzz/corpus $(VENV) tokenmill-demo dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find python tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f python/tokenmill/_core*.so

$(MADE):
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet "maturin>=1.16,<2"
	touch $@

$(BUILT): $(MADE) $(SOURCES)
	$(DEVELOP) --extras cli
	touch $@

$(TOOLS): pyproject.toml | $(BUILT)
	$(DEVELOP) --extras cli,arrow,test,lint
	touch $@

$(ENGINES): pyproject.toml | $(TOOLS)
	$(DEVELOP) --extras engines
	touch $@

# Not every one of these is there for every machine; the benchmark leaves out what is not installed.
$(PEERS): pyproject.toml | $(TOOLS)
	-$(DEVELOP) --extras bench
	touch $@
