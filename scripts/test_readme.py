"""Tests of scripts/readme.py on a small page."""

import unittest

import readme

PAGE = """# steradian

Pitch, see [guide](docs/guide.md).

![figure](docs/figure.png)

## Quick start

Skipped.

### Python

>>> 1

### Rust

Skipped.

## Install

a
## Why steradian

b
## When not to use it

c
## Methods

d
## Documentation

Skipped: [guide](docs/guide.md).

## Citation and license

[MIT](LICENSE-MIT), [paper](https://example.org/paper)
"""


class Readme(unittest.TestCase):
    def test_sections_are_taken_and_relative_links_become_text(self):
        made = readme.package_page(PAGE)
        self.assertTrue(made.startswith("# steradian\n\nPitch, see guide.\n\n## Python\n\n>>> 1\n"))
        self.assertTrue(made.endswith("## Citation and license\n\nMIT, [paper](https://example.org/paper)\n"))
        self.assertNotIn("Skipped", made)
        self.assertNotIn("figure", made)

    def test_a_missing_section_is_named(self):
        with self.assertRaisesRegex(SystemExit, "## Methods"):
            readme.package_page(PAGE.replace("## Methods", "## Other"))


if __name__ == "__main__":
    unittest.main()
