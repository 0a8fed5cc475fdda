"""A contract's table of edge cases in a folder's README.md: every row has a test, and every test named
there is."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def table(folder):
    """(row number, tests named for it) for each line of the table."""
    for line in (folder / 'README.md').read_text(encoding='utf-8').splitlines():
        cells = [cell.strip() for cell in line.strip().strip('|').split('|')]
        if line.startswith('|') and cells[0].isdigit():
            yield int(cells[0]), re.findall(r'`([^`]+)`', cells[-1])


def python_tests(folder):
    """`theme: Class.test` of every Python test of the folder."""
    for path in folder.glob('test_*.py'):
        case = None
        for line in path.read_text(encoding='utf-8').splitlines():
            if found := re.match(r'class (\w+)', line):
                case = found.group(1)
            if found := re.match(r'    def (test_\w+)', line):
                yield f'{path.stem.removeprefix("test_")}: {case}.{found.group(1)}'


def google_tests():
    """`gtest: Suite.Name` of every GoogleTest in the sources."""
    for path in (ROOT / 'tests' / 'unit').rglob('*_test.cpp'):
        text = path.read_text(encoding='utf-8')
        for suite, name in re.findall(r'\bTEST(?:_F|_P)?\((\w+),\s*(\w+)\)', text):
            yield f'gtest: {suite}.{name}'


def rows_in(name):
    """The rows that a test names: `test_rows_22_and_39_to_41_…` names four."""
    found = re.search(r'test_rows?_(\d+(?:_(?:and|to)_\d+)*)_', name)
    for first, last in re.findall(r'(\d+)(?:_to_(\d+))?', found.group(1)) if found else ():
        yield from range(int(first), int(last or first) + 1)


class EdgeCases:
    """The tests of one table; `folder` has it and its tests, `rows` are the contract's."""

    folder = None
    rows = set()

    def test_every_row_is_there_once_and_names_a_test(self):
        rows = list(table(self.folder))
        numbers = [number for number, _ in rows]
        self.assertEqual(sorted(numbers), sorted(set(numbers)), 'a row occurs twice')
        self.assertEqual(self.rows - set(numbers), set(), 'rows without a test')
        self.assertEqual(set(numbers) - self.rows, set(), 'rows that the contract does not have')
        self.assertEqual([number for number, tests in rows if not tests], [])

    def test_every_test_it_names_exists(self):
        there = set(python_tests(self.folder)) | set(google_tests())
        named = [(number, name) for number, tests in table(self.folder) for name in tests]
        self.assertEqual([one for one in named if one[1] not in there], [])

    def test_every_test_that_names_a_row_is_listed_at_that_row(self):
        standing = {(number, name) for number, tests in table(self.folder) for name in tests}
        missing = [(row, name) for name in python_tests(self.folder) for row in rows_in(name)
                   if (row, name) not in standing]
        self.assertEqual(missing, [])
