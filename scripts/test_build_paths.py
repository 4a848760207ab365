"""Tests of build_paths.py on files with and without paths of a machine."""

import contextlib
import io
import pathlib
import tempfile
import unittest
import zipfile

import build_paths


class BuildPaths(unittest.TestCase):
    def run_on(self, name, data):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            if path.suffix == ".whl":
                with zipfile.ZipFile(path, "w") as wheel:
                    wheel.writestr("steradian/_engine.abi3.so", data)
            else:
                path.write_bytes(data)
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                code = build_paths.main([str(path)])
            return code, output.getvalue()

    def test_a_path_of_the_checkout_fails(self):
        source = f"{build_paths.ROOT}/crates/steradian/src/lib.rs"
        code, output = self.run_on("steradian", b"\x00panicked at " + source.encode() + b"\x00")
        self.assertEqual(code, 1)
        self.assertIn(source, output)

    def test_a_path_of_cargo_in_a_wheel_fails(self):
        source = str(pathlib.Path.home() / ".cargo/registry/src/faer/lib.rs")
        code, output = self.run_on("a.whl", b"\x7fELF" + source.encode() + b"\x00")
        self.assertEqual(code, 1)
        self.assertIn("_engine.abi3.so: contains " + source, output)

    def test_remapped_paths_pass(self):
        self.assertEqual(
            self.run_on("steradian", b"cargo/registry/src/faer/lib.rs\x00crates/steradian/src/lib.rs"), (0, "")
        )


if __name__ == "__main__":
    unittest.main()
