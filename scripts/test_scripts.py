"""Tests of the checks in this folder, on small trees of files: `python3 -m unittest discover -s scripts`."""

import contextlib
import io
import pathlib
import subprocess
import tempfile
import tomllib
import unittest

import file_table
import layers
import words

ORDER = ["root", "low", "high"]


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, files):
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


class Layers(Tree):
    def problems(self, **changed):
        """Problems of a clean crate of two layers, with some of its files changed; `low__a` names low/a.rs."""
        files = {
            "lib": "mod error;\nmod low;\nmod high;\npub use high::c::C;\n",
            "error": "pub struct Error;\n",
            "low__mod": "pub(crate) mod a;\npub(crate) mod b;\npub(crate) use a::A;\n",
            "low__a": "use crate::error::Error;\npub struct A(Error);\n",
            "low__b": "use super::a::A;\npub struct B(A);\n",
            "high__mod": "pub(crate) mod c;\npub(crate) use c::C;\n",
            "high__c": "use crate::low::A;\npub struct C(A, crate::low::b::B);\n",
        }
        self.write({name.replace("__", "/") + ".rs": text for name, text in {**files, **changed}.items()})
        return layers.check(self.root, ORDER)[0]

    def test_a_clean_tree_passes(self):
        self.assertEqual(self.problems(), [])

    def test_an_import_against_the_order_is_found(self):
        found = self.problems(low__b="use crate::high::c::C;\npub struct B(C);\n")
        self.assertIn("low/b.rs imports high/c.rs, but high comes after low", found)

    def test_a_path_without_a_use_counts(self):
        found = self.problems(low__b="pub struct B(crate::high::c::C);\n")
        self.assertIn("low/b.rs imports high/c.rs, but high comes after low", found)

    def test_a_cycle_of_files_is_found(self):
        found = self.problems(low__a="use super::b::B;\npub struct A(Option<Box<B>>);\n")
        self.assertEqual(found, ["cycle: low/a.rs, low/b.rs"])

    def test_a_reexport_counts_as_the_file_that_defines_the_name(self):
        found = self.problems(low__b="use crate::high::C;\npub struct B(C);\n")
        self.assertIn("low/b.rs imports high/c.rs, but high comes after low", found)
        self.assertNotIn("low/b.rs imports high/mod.rs, but high comes after low", found)
        # Through mod.rs, b imports a and a imports b.
        again = self.problems(
            low__a="use super::b::B;\npub struct A(Box<B>);\n", low__b="use crate::low::A;\npub struct B(A);\n"
        )
        self.assertEqual(again, ["cycle: low/a.rs, low/b.rs"])

    def test_a_file_may_use_the_mod_rs_that_lists_it(self):
        listing = "pub(crate) mod a;\npub(crate) mod b;\npub(crate) use a::A;\npub(crate) const N: usize = 1;\n"
        user = "use super::N;\npub struct A([u8; N]);\n"
        self.assertEqual(self.problems(low__mod=listing, low__a=user), [])
        # A listing that also uses the name is in a cycle with the file.
        found = self.problems(low__mod=listing + "fn f(a: A) {}\n", low__a=user)
        self.assertEqual(found, ["cycle: low/a.rs, low/mod.rs"])

    def test_test_modules_comments_and_strings_do_not_count(self):
        text = "use crate::high::c::C;\n"
        module = f"#[cfg(test)]\nmod tests {{\n    {text}    fn f() {{}}\n}}\n"
        found = self.problems(error=f'// {text}pub struct Error;\nconst TEXT: &str = "crate::high::c::C";\n{module}')
        self.assertEqual(found, [])
        self.assertNotEqual(self.problems(error=f"{text}pub struct Error;\n"), [])

    def test_a_folder_without_a_layer_is_found(self):
        found = self.problems(other__d="pub struct D;\n")
        self.assertIn("other/ is not in the order of folders", found)


class FileTable(Tree):
    def setUp(self):
        super().setUp()
        self.write(
            {
                "ARCHITECTURE.md": f"# Title\n\n{file_table.BEGIN}\n{file_table.END}\n\nThe end.\n",
                "crates/one/src/lib.rs": "//! The library. A second sentence.\n",
                "crates/one/src/low/a.rs": "//! Sums of rows, after Wilson et al. 1931, as a\n"
                "//! [`Fold`](crate::Fold).\n//!\n//! More.\n",
                "python/rust/src/lib.rs": "//! The extension module.\n",
            }
        )

    def run_table(self, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            status = file_table.main(list(arguments), self.root)
        return status, printed.getvalue()

    def test_a_written_table_is_up_to_date_and_leaves_the_rest(self):
        self.assertEqual(self.run_table("--write")[0], 0)
        self.assertEqual(self.run_table()[0], 0)
        page = (self.root / "ARCHITECTURE.md").read_text()
        self.assertIn("| `lib.rs` | The library |", page)
        self.assertIn("| `low/a.rs` | Sums of rows, after Wilson et al. 1931, as a `Fold` |", page)
        self.assertTrue(page.startswith("# Title\n") and page.endswith("\nThe end.\n"))

    def test_a_stale_table_is_found_by_line(self):
        self.run_table("--write")
        self.write({"crates/one/src/low/b.rs": "//! Counts of rows.\n"})
        status, printed = self.run_table()
        self.assertEqual(status, 1)
        self.assertIn("+ | `low/b.rs` | Counts of rows |", printed)
        self.run_table("--write")
        (self.root / "crates/one/src/low/b.rs").unlink()
        status, printed = self.run_table()
        self.assertEqual(status, 1)
        self.assertIn("- | `low/b.rs` | Counts of rows |", printed)

    def test_a_changed_header_is_found(self):
        self.run_table("--write")
        self.write({"python/rust/src/lib.rs": "//! The module.\n"})
        status, printed = self.run_table()
        self.assertEqual(status, 1)
        self.assertIn("+ | `lib.rs` | The module |", printed)

    def test_a_file_without_a_header_fails_even_when_written(self):
        self.write({"crates/one/src/low/b.rs": "pub struct B;\n"})
        self.run_table("--write")
        status, printed = self.run_table("--write")
        self.assertEqual(status, 1)
        self.assertIn("crates/one/src/low/b.rs has no //! header", printed)

    def test_a_page_without_the_markers_fails(self):
        self.write({"ARCHITECTURE.md": "# Title\n"})
        self.assertEqual(self.run_table()[0], 1)


class Words(Tree):
    """The rules of scripts/words.toml, on files that break one of them each."""

    def setUp(self):
        super().setUp()
        self.rules = tomllib.loads((words.ROOT / words.RULES).read_text())

    def findings(self, files):
        """Path and line of each finding, and the rules as one text."""
        self.write(files)
        found = words.check(self.root, sorted(files), self.rules)
        return [(name, line) for name, line, _ in found], " ".join(rule for _, _, rule in found)

    def test_clean_files_pass(self):
        files = {
            "README.md": "The background of a clip.\n",
            "crates/a/src/one.rs": "/// A mean.\nstruct Mean;\nimpl Fold for Mean {\n    type Out = f64;\n}\n",
            "crates/b/src/low/two.rs": "/// A sum.\nstruct Sum;\nimpl Fold for Sum {\n    type Out = f64;\n}\n",
        }
        self.assertEqual(self.findings(files), ([], ""))

    def test_every_phrase_is_found(self):
        # A bar keeps these lines themselves off the list.
        planted = [
            "spea|ks", "Spea|king", "who| may", "seen| from", "made| again", "by| fours", "how|-manieth",
            "thousand| million", "under| way", "under|way", "go| on from", "goes| on from", "asked| wrong",
            "takes| its name", "fall| silent", "taken| apart",
            "empty| scene", "whole| number", "whole| numbers", "not| a number", "where| they lie",
            "where| it lies", "rows| elsewhere", "me|nd", "me|nded",
        ]  # fmt: skip
        for phrase in (text.replace("|", "") for text in planted):
            places, rules = self.findings({"notes.txt": f"First line.\nA line with {phrase} in it.\n"})
            self.assertEqual(places, [("notes.txt", 2)], phrase)
            self.assertIn(f'"{phrase}" is on the deny list', rules)

    def test_a_phrase_across_two_lines_of_a_comment_is_found(self):
        for marker in ("", "// ", "/// ", "//! ", "# "):
            text = f"{marker}One\n{marker}of the whole\n{marker}numbers.\n"
            self.assertEqual(self.findings({"a.rs": text})[0], [("a.rs", 2)], marker)

    def test_parts_of_longer_words_pass(self):
        self.assertEqual(self.findings({"a.md": "Recommend amendments of loudspeakers.\n"})[0], [])

    def test_an_opening_of_a_doc_comment_is_found(self):
        for opening in ("What it does.", "Who reads it.", "Whose rows.", "The same for rows."):
            places, rules = self.findings({"a.rs": f"/// A type.\nstruct A {{\n    /// {opening}\n    b: u8,\n}}\n"})
            self.assertEqual(places, [("a.rs", 3)], opening)
            self.assertIn("start with what the item is", rules)
        self.assertEqual(self.findings({"a.rs": "/// The sample.\n// What follows is a comment.\n"})[0], [])

    def test_a_denied_type_name_is_found_in_rust_and_python(self):
        for name in self.rules["types"]["denied"]:
            files = {
                "a.rs": f"mod b {{\n    pub(crate) enum {name} {{}}\n}}\n",
                "b.py": f"\n\nclass {name}(Base):\n    pass\n",
            }
            places, rules = self.findings(files)
            self.assertEqual(sorted(set(places)), [("a.rs", 2), ("b.py", 3)], name)
            self.assertIn(f"the type name {name} is on the deny list", rules)
        self.assertEqual(self.findings({"a.rs": "struct KeptRows;\nstruct NotFound;\n"})[0], [])

    def test_a_type_name_that_is_declared_twice_is_found(self):
        files = {
            "crates/a/src/one.rs": "pub struct Point;\npub struct Model;\n",
            "crates/b/src/low/two.rs": "use a::Model;\n\ntype Point = (f64, f64);\n",
            "crates/b/tests/three.rs": "struct Point;\n",
            "python/rust/src/model.rs": "pub struct Model;\n",
        }
        places, rules = self.findings(files)
        self.assertEqual(places, [("crates/b/src/low/two.rs", 3)])
        self.assertIn("the type name Point is also declared in crates/a/src/one.rs", rules)

    def test_the_changelog_and_the_list_are_exempt_and_binary_files_are_skipped(self):
        text = "A whole" + " number.\n"
        self.assertEqual(self.findings({"CHANGELOG.md": text, "scripts/words.toml": text, "a.bin": text + "\0"})[0], [])

    def test_tracked_files_are_listed(self):
        self.write({"one.txt": "", "low/two words.txt": "", "three.txt": ""})
        for command in (["init", "-q"], ["add", "one.txt", "low"]):
            subprocess.run(["git", "-C", self.root, *command], check=True)
        self.assertEqual(words.tracked(self.root), ["low/two words.txt", "one.txt"])


if __name__ == "__main__":
    unittest.main()
