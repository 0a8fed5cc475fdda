"""Tests of the dashboard in a real browser: run.py [BIN_DIRECTORY] [TEST...].

Without BIN_DIRECTORY, a path, the tests of a running engine are left out. TEST is `test_live`, `test_live.Stream` or `test_live.Stream.test_…`. Where there is no browser, or no axe-core, what
needs none is still run, the reason is printed as SKIPPED, and the exit status is 77.
"""

import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import axe  # noqa: E402
from driver import Browser, NoBrowser  # noqa: E402

ALONE = ('test_size', 'test_run')  # need no browser
ENGINE = ('test_engine', 'test_report')  # need the programs
EXIT_SKIPPED = 77


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
    names = arguments or sorted(path.stem for path in HERE.glob('test_*.py') if programs or path.stem not in ENGINE)
    alone = [name for name in names if name.split('.')[0] in ALONE]
    why = missing() if len(alone) < len(names) else ''
    result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromNames(alone if why else names))
    if not result.wasSuccessful() or result.skipped:
        return 1
    if why:
        # The last word: ctest takes it for all of these, so what failed has to come before.
        print(f'browser: SKIPPED, no browser tests on this machine: {why}', flush=True)
        return EXIT_SKIPPED
    return 0


if __name__ == '__main__':
    sys.exit(main())
