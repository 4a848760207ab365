"""Tests of the checks in this folder, on small trees of files: `python3 -m unittest discover -s scripts`."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import file_table
import layers

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
        again = self.problems(low__a="use super::b::B;\npub struct A(Box<B>);\n", low__b="use crate::low::A;\npub struct B(A);\n")
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
                "crates/one/src/low/a.rs": "//! Sums of rows, after Wilson et al. 1931, as a\n//! [`Fold`](crate::Fold).\n//!\n//! More.\n",
                "python/rust/src/lib.rs": "//! The extension module.\n",
            }
        )

    def run_table(self, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            status = file_table.main(arguments, self.root)
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


if __name__ == "__main__":
    unittest.main()
