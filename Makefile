# Thin: each line is a command one could type.

CARGO ?= cargo
# The real data some tests read; they say so and skip where it is absent.
export STERADIAN_DATA ?= $(abspath ../shared/data)

.PHONY: demo test lint doc memory clean

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

clean:
	$(CARGO) clean
	rm -rf steradian-demo
