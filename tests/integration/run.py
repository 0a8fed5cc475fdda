"""Runs a theme against the programs of a build: run.py BIN_DIRECTORY THEME [TEST...].

A theme is `lifecycle` for test_lifecycle.py, `queue_proxy.admission` for one of a folder, or
`queue_proxy` for all of it. A skipped test fails the run: it has not passed.
"""

import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def modules(theme):
    folder, _, name = theme.rpartition('.')
    if (HERE / theme).is_dir():
        return [f'{theme}.{path.stem}' for path in sorted((HERE / theme).glob('test_*.py'))]
    return [f'{folder}.test_{name}' if folder else f'test_{name}']


def main():
    if len(sys.argv) < 3:
        print('usage: run.py BIN_DIRECTORY THEME [TEST...]', file=sys.stderr)
        return 2
    os.environ['SLUICE_BIN'] = sys.argv[1]
    sys.path.insert(0, str(HERE))
    names = modules(sys.argv[2])
    if sys.argv[3:]:
        names = [f'{module}.{name}' for module in names for name in sys.argv[3:]]
    suite = unittest.defaultTestLoader.loadTestsFromNames(names)
    if suite.countTestCases() == 0:
        print(f'no tests in {sys.argv[2]}', file=sys.stderr)
        return 1
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    return 0 if result.wasSuccessful() and not result.skipped else 1


if __name__ == '__main__':
    sys.exit(main())
