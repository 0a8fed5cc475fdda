"""Tests of the dashboard in a real browser: run.py [BIN_DIRECTORY] [TEST...].

Without BIN_DIRECTORY, a path, the tests of a running engine are left out. TEST is `test_live`, `test_live.Stream` or `test_live.Stream.test_…`. Where there is no browser, or no axe-core, the reason is
printed as SKIPPED and what needs none is still run.
"""

import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import axe  # noqa: E402
from driver import Browser, NoBrowser  # noqa: E402

ALONE = ('test_size',)  # needs no browser
ENGINE = 'test_engine'  # needs the programs


def missing():
    """Why tests in a browser cannot run here; '' where they can."""
    try:
        Browser().close()
        axe.source()
    except (NoBrowser, axe.NoAxe) as reason:
        return str(reason)
    return ''


def main():
    arguments = sys.argv[1:]
    programs = bool(arguments) and '/' in arguments[0]
    if programs:
        os.environ['SLUICE_BIN'] = arguments.pop(0)
    names = arguments or sorted(path.stem for path in HERE.glob('test_*.py') if programs or path.stem != ENGINE)
    if why := missing():
        print(f'browser: SKIPPED, no browser tests on this machine: {why}')
        names = [name for name in names if name.split('.')[0] in ALONE]
    result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromNames(names))
    return 0 if result.wasSuccessful() and not result.skipped else 1


if __name__ == '__main__':
    sys.exit(main())
