"""docs/python.md and docs/training.md: their sessions print what they show (as doctest), their
programs are those that the sessions use. The program in README.md runs.

  docs_test.py --package build/release/python
"""
import doctest
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import support

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = re.compile(r"<!-- program: (\S+) -->\n```(?:cgraph|python)\n(.*?)```", re.S)
SESSION = re.compile(r"```python\n(.*?)```", re.S)


class Document(unittest.TestCase):
    def run_sessions(self, page, least, prepare=lambda: None):
        """Runs what a page shows, at least so many lines, in a folder with its programs."""
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        sessions = "\n".join(SESSION.findall(text))
        with tempfile.TemporaryDirectory() as folder:
            for name, program in PROGRAM.findall(text):
                pathlib.Path(folder, name).write_text(program, encoding="utf-8")
            before = os.getcwd()
            os.chdir(folder)
            self.addCleanup(os.chdir, before)
            prepare()
            test = doctest.DocTestParser().get_doctest(sessions, {}, page, page, 0)
            said = []
            result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test,
                                                                             out=said.append)
        self.assertGreaterEqual(result.attempted, least)
        self.assertEqual(result.failed, 0, "".join(said))

    def test_python(self):
        self.run_sessions("python.md", least=16)

    def test_training(self):
        def split():
            os.symlink(ROOT / "examples", "examples")
            subprocess.run([sys.executable, "examples/digits/split.py"], check=True)
        self.run_sessions("training.md", least=6, prepare=split)

    def test_readme(self):
        blocks = SESSION.findall((ROOT / "README.md").read_text(encoding="utf-8"))
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(ROOT)
        self.assertEqual(len(blocks), 1)
        names = {}
        exec(compile(blocks[0], "README.md", "exec"), names)
        self.assertEqual((names["labels"].shape, names["scores"][1].shape), ((64,), (64, 10)))


if __name__ == "__main__":
    support.main()
