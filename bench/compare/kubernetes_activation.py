"""Our part of waking a Deployment through real pods, beside its bar: kubernetes_activation.py --bin DIR [--json FILE]

Installs the chart on a Kubernetes of its own (tests/kubernetes, tier 3), lets ten Deployments sleep and
wakes each a few times. lab/activation.py says what is measured. Needs root. Exit status 1 above the bar.
"""

import argparse
import dataclasses
import json
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[2] / 'tests'
sys.dont_write_bytecode = True
sys.path[:0] = [str(TESTS / 'kubernetes'), str(TESTS / 'integration')]

from lab import activation  # noqa: E402
from lab.cluster import Lab, reason_against  # noqa: E402
from lab.installed import stage  # noqa: E402

BAR_MS = 50
SERVICES = [f'svc{number}' for number in range(10)]
ROUNDS = 3


def measure(programs, rounds):
    with Lab(3, programs) as lab, stage(lab, activator={'coldStartHeader': True}) as case:
        for name in SERVICES:
            case.workload(name)
            case.scale(name)
        for name in SERVICES:
            case.wait_routed(name)
        return activation.measure(case, SERVICES, rounds)


def count(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'{text} is no whole number of 1 or more')
    return int(text)


def target(text):
    """A file that can be written: told before minutes of measuring, not after."""
    try:
        with open(text, 'a', encoding='ascii'):
            return pathlib.Path(text)
    except OSError as problem:
        raise argparse.ArgumentTypeError(
            f'{text} cannot be written: {problem.strerror}; name a file in a folder that exists') from problem


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--bin', required=True, type=pathlib.Path, help='folder of the programs')
    parser.add_argument('--rounds', type=count, default=ROUNDS, help=f'activations of each of ten services ({ROUNDS})')
    parser.add_argument('--json', metavar='FILE', type=target, help='write each activation here')
    parser.add_argument('--check', action='store_true', help='only tell whether the arguments will do')
    given = parser.parse_args()
    if given.check:
        return 0
    if reason := reason_against(3):
        print(f'kubernetes_activation: no Kubernetes can be started here: {reason}', file=sys.stderr)
        return 1
    seen = measure(given.bin.resolve(), given.rounds)
    median = activation.median_ours(seen)
    print(activation.printed(seen))
    print(f'bar: our part, median below {BAR_MS} ms: {median:.1f} ms, {"met" if median < BAR_MS else "NOT met"}')
    if given.json:
        given.json.write_text(json.dumps([dataclasses.asdict(one) for one in seen], indent=1), encoding='ascii')
    return 0 if median < BAR_MS else 1


if __name__ == '__main__':
    sys.exit(main())
