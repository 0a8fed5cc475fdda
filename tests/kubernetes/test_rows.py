"""The tables rows.md and claims.md and the list seams: every row names a test, and every test named there is."""

import pathlib
import re
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / 'integration'), str(HERE.parent / 'tidy')]

from edge_cases import google_tests  # pylint: disable=wrong-import-position
from pages import Page  # pylint: disable=wrong-import-position

FOLDERS = ('tier1', 'tier2', 'tier3', 'alone', 'knative')

# What the references have about Kubernetes. Who takes a row away takes it from here too.
ROWS = {
    'autoscaler': '26, 61, 64-85, 91, 92, 94, 96-98, 101, §8.1, §8.2, §8.3, §8.4, §9, §10.1, §10.2, §10.4, §11, '
                  '§16.2, §16.3, §16.4, §16.5, §16.7',
    'activator': '10, 22-34, 46-60, §6.1, §6.3, §14.1, §14.5, §14.6, §14.7, §14.9',
    'queue-proxy': '9-13, 16, 56-64, §3, §10',
    'api-server': 'L1-L5, L7-L11, §1 replica, §1 demand, §1 scale, §1 rivals, §1 deletion cost, §1 traffic, '
                  '§1 result, §1 leadership',
    'ecosystem': '§3.3 label, §3.3 settings, §3.3 webhook, §3.3 certificate, §3.3 form, §3.3 offline, '
                 '§6.3 install, §6.3 object, §6.3 ignore, §6.3 levels',
    'laboratory': 'network, watches, fake pods, real pods, charts, knative, aftermath',
}


def cells_of(page):
    for line in (HERE / page).read_text(encoding='utf-8').splitlines():
        cells = [cell.strip() for cell in line.strip().strip('|').split('|')]
        if line.startswith('|') and len(cells) == 3 and not set(cells[0]) <= set('-') and 'tests' not in cells[2][:5]:
            yield cells


def numbers_of(text):
    """`64-66` are three, `L1-L3` too."""
    found = re.fullmatch(r'(L?)(\d+)-L?(\d+)', text)
    return [f'{found[1]}{one}' for one in range(int(found[2]), int(found[3]) + 1)] if found else [text]


def table():
    """(reference, row, tests) for each row."""
    for row, _, tests in cells_of('rows.md'):
        reference, rows = row.split(' ', 1)
        for number in numbers_of(rows):
            yield reference, number, re.findall(r'`([^`]+)`', tests)


def classes(path):
    """{class: its tests} of a Python module."""
    found, case = {}, None
    for line in path.read_text(encoding='utf-8').splitlines():
        if match := re.match(r'class (\w+)', line):
            case = found.setdefault(match[1], [])
        if match := re.match(r'    def (test_\w+)', line):
            case.append(match[1])
    return found


def modules():
    """{`tier1/test_x`: {class: its tests}}"""
    paths = {f'{folder}/{path.stem}': path for folder in FOLDERS for path in (HERE / folder).glob('test_*.py')}
    for path in (HERE.parent / 'integration').glob('*/test_*.py'):
        paths[f'integration/{path.parent.name}/{path.stem}'] = path
    return {name: classes(path) for name, path in paths.items()}


def all_tests():
    for module, cases in modules().items():
        for case, tests in cases.items():
            yield from (f'{module}: {case}.{test}' for test in tests)
    yield from google_tests()


class Rows(unittest.TestCase):
    def test_every_row_of_the_references_is_there_once_and_names_a_test(self):
        there = [(reference, row) for reference, row, _ in table()]
        wanted = {(reference, row) for reference, rows in ROWS.items()
                  for some in rows.split(', ') for row in numbers_of(some)}
        self.assertEqual([row for row in set(there) if there.count(row) > 1], [], 'rows that occur twice')
        self.assertEqual(wanted - set(there), set(), 'rows without a test')
        self.assertEqual(set(there) - wanted, set(), 'rows that the references do not have')
        self.assertEqual([row for *row, tests in table() if not tests], [])

    def test_every_row_is_one_of_the_page_it_names(self):
        for reference, row, _ in table():
            if reference == 'laboratory':
                continue
            page = Page((ROOT / 'docs' / 'reference' / f'{reference}.md').read_text(encoding='utf-8'))
            section = re.match(r'§([\d.]+)', row)
            there = section[1] in page.numbers if section else page.has_row('', row)
            self.assertTrue(there, f'{reference} {row}')

    def test_every_test_it_names_exists(self):
        there = set(all_tests())
        self.assertGreater(len(there), 1000)
        missing = [(reference, row, name) for reference, row, tests in table() for name in tests if name not in there]
        self.assertEqual(missing, [])


class Claims(unittest.TestCase):
    """Names there are short: `test_module.Class`, `Class.test_that_begins_so…`, `Class` of the module before."""

    def exists(self, name, known):
        if '/' in name:
            return (ROOT / name).exists()
        parts = name.split('.')
        if parts[0].startswith('test_') and len(parts) <= 2:
            self.here = {case: tests for module, cases in known.items() if module.endswith('/' + parts[0])
                         for case, tests in cases.items()}
            parts = parts[1:]
            if not self.here or not parts:
                return bool(self.here)
        if parts[0].startswith('…'):
            return any(parts[0].strip('…') in test for test in self.case)
        self.case = self.here.get(parts[0]) or next(
            (cases[parts[0]] for module, cases in known.items() if parts[0] in cases and module.startswith('tier')), [])
        if len(parts) == 1:
            return bool(self.case)
        begins, whole = parts[1].rstrip('…'), '…' not in parts[1]
        return any(test == begins if whole else test.startswith(begins) for test in self.case)

    def test_every_test_that_they_name_exists(self):
        known = modules()
        rows = list(cells_of('claims.md'))
        self.assertGreater(len(rows), 10)
        missing = []
        for fault, _, tests in rows:
            self.here, self.case = {}, []
            names = re.findall(r'`([^`]+)`', tests)
            self.assertTrue(names, fault)
            missing += [(fault, name) for name in names if not self.exists(name, known)]
        self.assertEqual(missing, [])


class Seams(unittest.TestCase):
    def test_every_name_is_of_a_module_a_class_or_a_test_of_a_tier(self):
        known = {module.replace('/', '.'): cases for module, cases in modules().items() if module.startswith('tier')}
        there = set(known)
        for module, cases in known.items():
            there |= {f'{module}.{case}' for case in cases}
            there |= {f'{module}.{case}.{test}' for case, tests in cases.items() for test in tests}
        lines = (HERE / 'seams').read_text(encoding='utf-8').splitlines()
        names = [line.split()[0] for line in lines if line and not line.startswith('#')]
        self.assertEqual({name.split('.')[0] for name in names}, {'tier1', 'tier2', 'tier3'})
        self.assertEqual([name for name in names if name not in there], [])


if __name__ == '__main__':
    unittest.main()
