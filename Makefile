# Thin: each line is a command that could be typed.

CARGO ?= cargo
# The versions of Cargo.lock, or an error.
LOCKED := --locked
# Real data that some tests read; without it they print the reason and skip.
export STERADIAN_DATA ?= $(abspath ../shared/data)
# Scripts that the reference values were computed with; tests that need them skip without it, too.
export STERADIAN_REFERENCE ?= $(abspath ../shared/reference)
# Property tests use a fixed seed, so that a failure is due to the change; `make explore` uses a fresh one.
export PROPTEST_RNG_SEED ?= 1999
export HYPOTHESIS_PROFILE ?= same
# Where cargo builds, and where Python's tools and the package under test live.
TARGET := $(or $(CARGO_TARGET_DIR),target)
VENV := .venv
# What measures, and the environment with the packages that it compares with.
MEASURE := .venv-measure/bin/python -m measure
PROGRAM := $(TARGET)/release/steradian

# Binaries for users have no path of the machine that built them, neither in panic messages nor in debug information.
# Other targets leave RUSTFLAGS alone, so that they share what `cargo build` and `cargo test` have compiled.
demo figures release wheel: export RUSTFLAGS += --remap-path-prefix=$(CURDIR)=steradian --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=cargo

.PHONY: help check layers file-table words test-scripts test-measure lint-measure lint-rust lint-python compile-tests release measure-wheel demo test explore test-rust test-python test-report test-paper test-spark need-java paper install-python wheel alone lint doc memory scale bench bench-python truth clips ffmpeg picture figures fuzz faults certificates memory-grid deny miri clean

## Background subtraction on a synthetic scene; the report is steradian-demo/background/report.html
demo:
	@echo "Building the program with optimization; the first build takes a few minutes."
	$(CARGO) run $(LOCKED) --release -p steradian-cli -- demo -o steradian-demo

## This list: each target with its first line of description
help:
	@awk '/^## / { text = substr($$0, 4); next } \
	     /^[a-z][a-z-]*:/ && text { sub(/:.*/, ""); printf "make %-14s %s\n", $$0, text } \
	     { text = "" }' $(firstword $(MAKEFILE_LIST))

## The inner loop, under three minutes on a warm build: formatting, lints, types, layers, file table, unit tests
check: $(VENV)/ready layers file-table words
	$(CARGO) fmt --all --check
	$(VENV)/bin/ruff check python
	$(VENV)/bin/ruff format --check python
	cd python && ../$(VENV)/bin/mypy
	$(MAKE) lint-measure test-measure
	$(LINT_CARGO) clippy $(LOCKED) --workspace --all-targets --all-features -- -D warnings
	$(CARGO) test $(LOCKED) --workspace --all-features --lib

## The direction of imports: none against the order of folders in scripts/layers.toml, no cycle of files
layers:
	python3 scripts/layers.py

## The file table of ARCHITECTURE.md against the sources; `python3 scripts/file_table.py --write` updates it
file-table:
	python3 scripts/file_table.py

## The vocabulary of all tracked text files, against the deny list in scripts/words.toml
words:
	python3 scripts/words.py

# Tests of the three checks above.
test-scripts:
	python3 -m unittest discover -s scripts

# Lints and types of measure/ and lints of experiments/, which uses its helpers.
lint-measure: $(VENV)/ready
	$(VENV)/bin/ruff check measure experiments
	$(VENV)/bin/ruff format --check measure experiments
	$(VENV)/bin/mypy --config-file measure/pyproject.toml

# Tests of the helpers and contamination models of measure/; they need only NumPy.
test-measure: $(VENV)/ready
	$(VENV)/bin/python -m unittest discover --buffer --top-level-directory . --start-directory measure/tests

## All tests: library, files, command line, Python package, the report in a browser, examples in the docs
test: test-rust test-measure test-python test-report test-paper

## Run all tests with a fresh seed of the property tests
explore:
	PROPTEST_RNG_SEED=$$(date +%s) HYPOTHESIS_PROFILE=fresh $(MAKE) test

# Compiles the program and all tests of the workspace, once for the targets that run them.
compile-tests:
	$(CARGO) test $(LOCKED) --workspace --all-features --no-run

test-rust: compile-tests
	$(CARGO) test $(LOCKED) --workspace --all-features

test-python: compile-tests install-python
	$(VENV)/bin/python -m pytest -c python/pyproject.toml python/tests

# The HTML report of a clip in Chromium: that of playwright, or the system's; without both the tests print the reason and skip.
test-report: compile-tests .venv-report/ready | test-python
	STERADIAN=$(abspath $(TARGET))/debug/steradian .venv-report/bin/python -m pytest -rs -p no:cacheprovider crates/steradian-cli/tests/report

.venv-report/ready: crates/steradian-cli/tests/report/requirements.txt
	python3 -m venv .venv-report
	.venv-report/bin/pip install --quiet --requirement crates/steradian-cli/tests/report/requirements.txt
	which chromium chromium-browser google-chrome || .venv-report/bin/playwright install chromium || true
	touch $@

## The screenshot docs/report.png: the HTML report of the synthetic scene in a browser
picture: demo .venv-report/ready
	.venv-report/bin/python crates/steradian-cli/tests/report/picture.py steradian-demo/background/report.html docs/report.png

## The figures of the README and the guide: writes docs/pca-vs-robust.png and docs/outlier-map.png
figures: $(VENV)/ready
	$(CARGO) build $(LOCKED) --release --quiet -p steradian-cli
	$(VENV)/bin/python docs/figures/pca_vs_robust.py --program $(TARGET)/release/steradian

# The short form of the experiments, with the wheel of the package tests.
test-paper: .venv-paper/ready install-python | test-report
	.venv-paper/bin/pip install --quiet --force-reinstall --no-deps $(TARGET)/wheels/*.whl
	.venv-paper/bin/python -m unittest experiments.test_experiments

## Tests of Spark fits (not part of `make test`): installs 1 GB into .venv-spark, needs Java 17 or later
test-spark: need-java .venv-spark/ready install-python
	.venv-spark/bin/pip install --quiet --force-reinstall --no-deps $(TARGET)/wheels/*.whl
	.venv-spark/bin/python -m pytest -c python/pyproject.toml python/tests_spark

need-java:
	@java -version >/dev/null 2>&1 || { echo "java not found; Spark requires Java 17 or later: apt-get install default-jre-headless"; exit 1; }

.venv-spark/ready: python/tests_spark/requirements.txt
	python3 -m venv .venv-spark
	.venv-spark/bin/pip install --quiet --requirement python/tests_spark/requirements.txt
	touch $@

# The wheel for tests: development profile (assertions on), installed with the dependencies of the tests.
install-python: $(VENV)/ready
	rm -rf $(TARGET)/wheels
	$(VENV)/bin/maturin build $(LOCKED) --quiet --manifest-path python/rust/Cargo.toml --profile dev --out $(TARGET)/wheels
	$(VENV)/bin/pip install --quiet --force-reinstall --no-deps $(TARGET)/wheels/*.whl

$(VENV)/ready: python/pyproject.toml
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --upgrade pip
	$(VENV)/bin/pip install --quiet numpy scikit-learn --group python/pyproject.toml:dev
	touch $@

## Mutated files of all formats for SECONDS=600, and a table of what they found; `make test` runs a short form of this and the next three
fuzz:
	$(CARGO) run $(LOCKED) --release --quiet -p steradian-fuzz -- --seconds $(or $(SECONDS),600)

## Failing system calls and signals in RUNS=2000 runs of all commands, and a table
faults:
	STERADIAN_FAULTS=$(or $(RUNS),2000) $(CARGO) test $(LOCKED) --workspace --all-features --test cli faults -- --nocapture

## Certificates against exact subspaces on PROBLEMS=5000 adversarial problems
certificates:
	STERADIAN_CERTIFICATES=$(or $(PROBLEMS),5000) $(CARGO) test $(LOCKED) --release -p steradian --test suite certificates -- --nocapture

## Planned memory against measured memory, on the whole grid of shapes, methods, solvers and threads
memory-grid:
	STERADIAN_MEMORY_GRID=full $(CARGO) test $(LOCKED) --release -p steradian --test suite memory -- --nocapture

## Licenses, sources, duplicates and advisories of the dependencies; skips by name without cargo-deny
deny:
	sh scripts/deny.sh

## Undefined behavior in blocks, passes, the codec and the scalar kernels; skips by name without a nightly toolchain with Miri
miri:
	sh scripts/miri.sh

## Build the release wheel into dist/
wheel: $(VENV)/ready
	$(VENV)/bin/maturin build $(LOCKED) --quiet --manifest-path python/rust/Cargo.toml --release --out dist
	python3 scripts/build_paths.py dist/*.whl

## Test the release wheel in an environment with only NumPy and scikit-learn (runs the five-minute guide)
alone: wheel
	rm -rf $(TARGET)/alone
	python3 -m venv $(TARGET)/alone
	$(TARGET)/alone/bin/pip install --quiet dist/*.whl
	$(TARGET)/alone/bin/python -m doctest docs/python/five-minutes.md
	$(TARGET)/alone/bin/pip list

## Formatting, lints, types and docs, warnings as errors
lint: layers file-table words test-scripts lint-measure lint-rust lint-python

# Lints build in a folder of their own, so that they need not wait for a build of tests, nor it for them.
LINT_CARGO := CARGO_TARGET_DIR=$(abspath $(TARGET))/lint $(CARGO)

lint-rust:
	$(CARGO) fmt --all --check
	python3 scripts/shared_build.py
	python3 scripts/readme.py
	$(LINT_CARGO) clippy $(LOCKED) --workspace --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(LINT_CARGO) doc $(LOCKED) --workspace --all-features --no-deps

lint-python: install-python
	$(VENV)/bin/ruff check python
	$(VENV)/bin/ruff format --check python
	cd python && ../$(VENV)/bin/mypy
	cd python && ../$(VENV)/bin/python -m mypy.stubtest steradian._engine

## Peak memory of fits of a 2 GB file, without the pages of the mapped file (writes the file to a temporary folder)
memory: release .venv-measure/ready
	$(MEASURE) memory --program $(PROGRAM)

## Files larger than memory, killed fits, Dask: writes docs/scale.md; ONLY=streamed measures one part, FOLDER keeps its files
scale: release measure-wheel
	$(MEASURE) scale --program $(PROGRAM) --output docs/scale.md $(if $(ONLY),--only $(ONLY)) $(if $(FOLDER),--folder $(FOLDER))

## Speed beside NumPy, SciPy and scikit-learn: writes docs/benchmarks.md; QUICK=1 prints a short form, AGAINST=BINARY compares two builds
bench: release .venv-measure/ready
	$(MEASURE) speed --program $(PROGRAM) --folder $(TARGET)/bench $(if $(QUICK),--quick) $(if $(AGAINST),--against $(AGAINST),$(if $(QUICK),,--output docs/benchmarks.md))

## Accuracy on synthetic data: writes docs/truth.md; QUICK=1 prints a form with fewer seeds, FORMER=BINARY adds the times of another build
truth: release measure-wheel
	$(MEASURE) accuracy --program $(PROGRAM) --folder $(TARGET)/bench $(if $(FORMER),--former $(FORMER)) $(if $(QUICK),--quick,--output docs/truth.md)

## The Python package beside the command line and NumPy: writes docs/benchmarks-python.md
bench-python: release measure-wheel
	$(MEASURE) python --program $(PROGRAM) --folder $(TARGET)/bench --output docs/benchmarks-python.md

## Public clips beside their ground truth and OpenCV MOG2: writes docs/clips.md
clips: release .venv-measure/ready
	$(MEASURE) clips --program $(PROGRAM) --output docs/clips.md

release:
	$(CARGO) build $(LOCKED) --release --quiet -p steradian-cli
	python3 scripts/build_paths.py $(PROGRAM)

measure-wheel: .venv-measure/ready wheel
	.venv-measure/bin/pip install --quiet --force-reinstall --no-deps dist/*.whl

.venv-measure/ready: measure/requirements.txt
	python3 -m venv .venv-measure
	.venv-measure/bin/pip install --quiet --requirement measure/requirements.txt
	touch $@

## Reproduce the tables and figures of the paper: writes experiments/report.md; ONLY=table1 runs one part, SMALL=1 a short form
paper: .venv-paper/ready wheel
	.venv-paper/bin/pip install --quiet --force-reinstall --no-deps dist/*.whl
	.venv-paper/bin/python -m experiments --scratch $(TARGET)/bench $(if $(ONLY),--only $(ONLY)) $(if $(SMALL),--small --output $(TARGET)/paper-small)

.venv-paper/ready: experiments/requirements.txt
	python3 -m venv .venv-paper
	.venv-paper/bin/pip install --quiet --requirement experiments/requirements.txt
	touch $@

## Install ffmpeg, which decodes and encodes video (Debian, Ubuntu; needs root); tests of video skip without it
ffmpeg:
	apt-get install --yes ffmpeg

clean:
	$(CARGO) clean
	rm -rf steradian-demo .venv-measure .venv-report .venv-paper .venv-spark $(VENV) dist
