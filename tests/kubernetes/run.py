#!/usr/bin/env -S /usr/bin/python3 -B
"""Runs the tests that need a cluster: run.py BIN_DIRECTORY [--suite S] [--tier N]... [CLASS.TEST...].

The suite `kubernetes` has three tiers, `kubernetes-seams` is what the file `seams` lists of them, `knative`
is a Knative on top of the third. A tier has one cluster, which its tests share. Each closes with one line:
`tier N: P passed, F failed`, or `tier N: SKIPPED, REASON` where this machine cannot have it. Exit status 1
if something failed or a name is of no test; with CI=true also if something was skipped. `--hold N` starts a
cluster to look around in instead.
"""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / 'integration')]

from lab import toolbox  # noqa: E402
from lab.case import LabCase  # noqa: E402
from lab.cluster import TIERS, Lab, reason_against  # noqa: E402
from lab.place import end_with  # noqa: E402

FAILED = 1
# Folders of tests by suite, and the tier that each runs on.
TIER_FOLDERS = ('tier1', 'tier2', 'tier3')
SUITES = {'kubernetes': TIER_FOLDERS, 'kubernetes-seams': TIER_FOLDERS, 'knative': ('knative',)}
TIER_OF = {'tier1': 1, 'tier2': 2, 'tier3': 3, 'knative': 3}
TOOLS = {'kubernetes': ('cluster',), 'kubernetes-seams': ('cluster',), 'knative': ('cluster', 'knative')}
TIER_SECONDS = 3600
BROKEN = 'unittest.loader.'  # so begins the id of a module that cannot be loaded


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('bin', metavar='BIN_DIRECTORY', help='of the build under test: build/release/bin')
    parser.add_argument('tests', nargs='*', metavar='TEST', help='CLASS or CLASS.test_name; all if none')
    parser.add_argument('--suite', choices=SUITES, default='kubernetes')
    parser.add_argument('--tier', type=int, action='append', choices=TIERS, help='of kubernetes; all if none')
    parser.add_argument('--hold', type=int, choices=TIERS, help='start a cluster and keep it until Ctrl-C')
    parser.add_argument('--inside', choices=TIER_OF, help=argparse.SUPPRESS)
    parser.add_argument('--parent', type=int, help=argparse.SUPPRESS)
    return parser.parse_intermixed_args()


def wanted(test, names):
    """Whether one of the names is the test's class, its method, its module, or several of these."""
    broken = test.id().startswith(BROKEN)  # it runs, and fails, whatever is asked for
    return not names or broken or any(f'.{name}.' in f'.{test.id()}.' for name in names)


def tests_of(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from tests_of(one)
        else:
            yield one


def chosen(folder, names):
    loader = unittest.TestLoader()
    modules = [f'{folder}.{path.stem}' for path in sorted((HERE / folder).glob('test_*.py'))]
    suite = loader.loadTestsFromNames(modules)
    return unittest.TestSuite(test for test in tests_of(suite) if wanted(test, names))


def folders_of(given):
    return [folder for folder in SUITES[given.suite] if not given.tier or TIER_OF[folder] in given.tier]


def seams(folders):
    """Names of the tests that the file lists, the first word of each line, but for those of other tiers."""
    lines = (HERE / 'seams').read_text(encoding='utf-8').splitlines()
    names = [line.split()[0] for line in lines if line and not line.startswith('#')]
    others = set(TIER_FOLDERS) - set(folders)
    return [name for name in names if name.split('.')[0] not in others]


def without_tests(names, folders):
    """Those of the names that no test has. A module that cannot be loaded hides its own: its tier fails by it."""
    if not names:
        return []
    searched = [*folders, 'alone'] if 'tier1' in folders else folders
    ids = [test.id() for folder in searched for test in tests_of(chosen(folder, []))]
    if any(one.startswith(BROKEN) for one in ids):
        return []
    return [name for name in names if not any(f'.{name}.' in f'.{one}.' for one in ids)]


def by_cluster(suite):
    """(settings of Lab, tests) for each kind of cluster that modules ask for by a variable CLUSTER."""
    groups = {}
    for test in suite:
        settings = getattr(sys.modules[type(test).__module__], 'CLUSTER', {})
        groups.setdefault(repr(settings), (settings, unittest.TestSuite()))[1].addTest(test)
    return groups.values()


def failed_tests(result):
    """Ids of tests that did not pass. One that skips itself on a cluster has not shown what it claims."""
    bad = [test for test, _ in result.failures + result.errors + result.skipped]
    return {getattr(test, 'test_case', test).id() for test in bad + result.unexpectedSuccesses}


def label(folder):
    return f'tier {TIER_OF[folder]}' if folder.startswith('tier') else folder


def keep_logs(lab, folder, target):
    """What the parts of a cluster wrote, when its tests failed."""
    place = target / folder
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for path in lab.folder.glob('*.log'):
        shutil.copy(path, place)
    print(f'the logs of the cluster are kept in {place}', file=sys.stderr)


def run_inside(folder, given):
    """The tests of a folder, in this process: it enters the network of the cluster.

    Tests that start clusters themselves, in alone/, come first and count among those of tier 1.
    """
    runner = unittest.TextTestRunner(verbosity=2)
    alone = chosen('alone', given.tests) if folder == 'tier1' else unittest.TestSuite()
    results = [runner.run(alone)] if alone.countTestCases() else []
    for settings, suite in by_cluster(chosen(folder, given.tests)):
        began = time.monotonic()
        with Lab(TIER_OF[folder], pathlib.Path(given.bin), **settings) as lab:
            print(f'{label(folder)}: cluster up in {time.monotonic() - began:.1f} s', file=sys.stderr,
                  flush=True)
            LabCase.lab = lab
            results.append(runner.run(suite))
            if failed_tests(results[-1]):
                keep_logs(lab, folder, pathlib.Path(given.bin).parent / 'kubernetes-logs')
    failed = sum(len(failed_tests(result)) for result in results)
    passed = max(0, sum(result.testsRun for result in results) - failed)
    print(f'{label(folder)}: {passed} passed, {failed} failed', flush=True)
    nothing = not results and not given.tests  # a folder without tests shows nothing
    return FAILED if failed or nothing else 0


def run_folder(folder, given):
    """A process of its own for each; (closing line, exit status). The line is the last that it prints."""
    name = label(folder)
    reason = reason_against(TIER_OF[folder], TOOLS[given.suite])
    if reason:
        return f'{name}: SKIPPED, {reason}', FAILED if os.environ.get('CI') == 'true' else 0
    try:
        done = subprocess.run(
            [sys.executable, '-B', __file__, given.bin, '--inside', folder, '--parent', str(os.getpid()),
             *given.tests], stdout=subprocess.PIPE, text=True, check=False, timeout=TIER_SECONDS)
    except subprocess.TimeoutExpired:
        return f'{name}: 0 passed, 1 failed (no end after {TIER_SECONDS} s)', FAILED
    lines = done.stdout.splitlines()
    for line in lines[:-1]:
        print(line, flush=True)
    if not lines or not lines[-1].startswith(f'{name}: '):
        return f'{name}: 0 passed, 1 failed (the run ended with {done.returncode})', FAILED
    return lines[-1], done.returncode


def build_tools(suite):
    """Minutes the first time. What cannot be built is the reason why its tiers are skipped."""
    if os.geteuid() != 0:
        return  # it would be for nothing
    for name in TOOLS[suite]:
        try:
            toolbox.build(name, lambda line: print(f'== {line}', file=sys.stderr, flush=True))
        except toolbox.NoTools as reason:
            print(f'run.py: {reason}', file=sys.stderr)


def hold(tier, given):
    """A cluster until an interrupt."""
    build_tools('kubernetes')
    reason = reason_against(tier)
    if reason:
        print(f'SKIPPED, {reason}', file=sys.stderr)
        return FAILED
    with Lab(tier, pathlib.Path(given.bin)) as lab:
        print(f'''tier {tier} is up. In another terminal, as root:
  alias k="nsenter --net=/run/netns/sluice-k8s {lab.tools}/kubectl --kubeconfig={lab.kubeconfig}"
  k get pods -A
Logs: {lab.folder}/*.log. Ctrl-C ends it.''', flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            print()
    return 0


def main():
    given = arguments()
    given.bin = str(pathlib.Path(given.bin).resolve())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that everything is closed in order
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background has it ignored
    os.environ['SLUICE_BIN'] = given.bin
    if given.hold:
        return hold(given.hold, given)
    if given.inside:
        end_with(given.parent)
        return run_inside(given.inside, given)
    folders = folders_of(given)
    if given.suite == 'kubernetes-seams' and not given.tests:
        given.tests = seams(folders)
    if unknown := without_tests(given.tests, folders):
        print(f'run.py: no test is called {" or ".join(unknown)}', file=sys.stderr)
        return FAILED
    build_tools(given.suite)
    closing = [run_folder(folder, given) for folder in folders]
    print('\n'.join(line for line, _ in closing))
    return max(code for _, code in closing)


if __name__ == '__main__':
    sys.exit(main())
