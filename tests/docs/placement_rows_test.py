"""The tables of docs/reference/placement.md: every row names what shows it, and every test named there is."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
INTEGRATION = ROOT / 'tests' / 'integration'
sys.path.insert(0, str(INTEGRATION))

from edge_cases import google_tests, python_tests  # pylint: disable=wrong-import-position

PAGE = ROOT / 'docs' / 'reference' / 'placement.md'
BENCHES = ROOT / 'bench' / 'micro' / 'report.py'
# The forms of a name: of GoogleTest, of a class of tests/integration or one of its tests, of a micro benchmark.
GOOGLE = r'[A-Z]\w+\.[A-Z]\w+'
PYTHON = r'[a-z_]+(?:\.[a-z_]+)?: [A-Z]\w+(?:\.test_\w+)?'
BENCH = r'micro: \S+'


def sections():
    """{heading: text} of the page."""
    parts = re.split(r'^## (.+)$', PAGE.read_text(encoding='utf-8'), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def rows(heading):
    """The cells of each row of the tables below that heading, their heads left out."""
    text, = (text for title, text in sections().items() if title.endswith(heading))
    for table in re.findall(r'(?:^\|.*\n)+', text, flags=re.MULTILINE):
        for line in table.splitlines()[2:]:
            yield [cell.strip() for cell in line.strip().strip('|').split(' | ')]


def names(cell):
    return re.findall(r'`([^`]+)`', cell)


def known():
    """Every name that there is."""
    found = {name.removeprefix('gtest: ') for name in google_tests()}
    found |= {name.split('.')[0] for name in found}
    for folder in (INTEGRATION, *(each for each in INTEGRATION.iterdir() if each.is_dir())):
        prefix = '' if folder == INTEGRATION else f'{folder.name}.'
        for test in python_tests(folder):
            found |= {prefix + test, prefix + test.rsplit('.', 1)[0]}
    found |= {f'micro: {bench}' for bench in re.findall(r"\('([\w/:]+)', ", BENCHES.read_text(encoding='utf-8'))}
    return found


class Rows(unittest.TestCase):
    def test_every_edge_case_is_there_once_and_names_a_test(self):
        cases = list(rows('Edge cases'))
        self.assertGreater(len(cases), 60)
        numbers = [cells[0] for cells in cases]
        self.assertEqual([number for number in set(numbers) if numbers.count(number) > 1], [])
        self.assertEqual([cells[0] for cells in cases if not names(cells[-1])], [])

    def test_every_requirement_names_what_shows_it(self):
        requirements = list(rows('What shows it'))
        self.assertGreater(len(requirements), 20)
        replay = r'\bR[123]\b'
        self.assertEqual([cells[0] for cells in requirements
                          if not names(cells[-1]) and not re.search(replay, cells[-1])], [])

    def test_every_test_that_the_tables_name_exists(self):
        there = known()
        self.assertEqual([(cells[0], name) for heading in ('Edge cases', 'What shows it') for cells in rows(heading)
                          for name in names(cells[-1]) if name not in there], [])

    def test_every_test_that_the_text_names_exists(self):
        there = known()
        named = re.findall(rf'`({GOOGLE}|{PYTHON}|{BENCH})`', PAGE.read_text(encoding='utf-8'))
        self.assertGreater(len(named), 100)
        self.assertEqual([name for name in named if name not in there], [])


if __name__ == '__main__':
    unittest.main()
