#!/bin/sh
# Licenses, sources, duplicates and advisories of the dependencies, by the rules in deny.toml. Skipped by name where the
# tool or the database of advisories is not available.
set -eu
if ! cargo deny --version >/dev/null 2>&1; then
    echo "deny: skipped, cargo-deny is not installed (cargo install --locked cargo-deny)"
    exit 0
fi
cargo deny --all-features check licenses sources bans
if cargo deny --all-features fetch db >/dev/null 2>&1; then
    cargo deny --all-features check advisories
else
    echo "deny: advisories skipped, the database cannot be fetched"
fi
