"""Runs one theme against the programs of a build: run.py BIN_DIRECTORY THEME.

A skipped test fails the run: it has not passed.
"""

import os
import pathlib
import sys
import unittest


def main():
    if len(sys.argv) < 3:
        print('usage: run.py BIN_DIRECTORY THEME [TEST...]', file=sys.stderr)
        return 2
    os.environ['SLUICE_BIN'] = sys.argv[1]
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    module = f'test_{sys.argv[2]}'
    names = [f'{module}.{name}' for name in sys.argv[3:]] or [module]
    suite = unittest.defaultTestLoader.loadTestsFromNames(names)
    if suite.countTestCases() == 0:
        print(f'no tests in {module}', file=sys.stderr)
        return 1
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    return 0 if result.wasSuccessful() and not result.skipped else 1


if __name__ == '__main__':
    sys.exit(main())
