# Thin: each line is a command one could type.

CARGO ?= cargo
# The real data some tests read; they say so and skip where it is absent.
export STERADIAN_DATA ?= $(abspath ../shared/data)
# The scripts that reference figures were made with; the same holds for them.
export STERADIAN_REFERENCE ?= $(abspath ../shared/reference)
BUILT = $(or $(CARGO_TARGET_DIR),target)

.PHONY: demo test lint doc memory bench truth clean

## The main job on a built-in scene: pictures and report.html in steradian-demo/
demo:
	$(CARGO) run --release --quiet -p steradian-cli -- demo -o steradian-demo

## All tests: library, files, command line, examples in the docs
test:
	$(CARGO) test --workspace --all-features

## Formatting, lints and docs, warnings as errors
lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --all-features --no-deps

## Fits a 2 GB file and measures the memory above the file's pages (writes the file to a temporary folder)
memory:
	$(CARGO) build --release --quiet -p steradian-cli
	python3 scripts/memory.py target/release/steradian

## Ours beside numpy, scipy and scikit-learn: writes docs/benchmarks.md; QUICK=1 prints a shorter form in under 3 minutes
bench: .venv-bench/ready
	$(CARGO) build --release --quiet -p steradian-cli
	.venv-bench/bin/python bench/run.py $(if $(QUICK),--quick,--output docs/benchmarks.md)

.venv-bench/ready: bench/requirements.txt
	python3 -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --requirement bench/requirements.txt
	touch $@

## Every method against data whose truth is known: writes docs/truth.md; QUICK=1 prints a form with fewer seeds
truth: .venv-truth/ready
	$(CARGO) build --release --quiet -p steradian-cli
	.venv-truth/bin/python -m unittest discover --start-directory truth
	.venv-truth/bin/python truth/run.py --program $(BUILT)/release/steradian --folder $(BUILT)/bench $(if $(QUICK),--quick,--output docs/truth.md)

.venv-truth/ready: truth/requirements.txt
	python3 -m venv .venv-truth
	.venv-truth/bin/pip install --quiet --requirement truth/requirements.txt
	touch $@

clean:
	$(CARGO) clean
	rm -rf steradian-demo .venv-bench .venv-truth
