"""The activator's bars: its cost beside nginx in front of nginx, cold starts, held requests, idle revisions.

Prints a table of figures beside their bars. A figure that is short of its bar is a report and fails
nothing, since a shared machine proves nothing; a peer or a tool that fails does.
Behind `./dev bench activator`; method: bench/README.md.
"""

import argparse
import pathlib
import signal
import subprocess
import sys
import tempfile

from activator_scenarios import ACTIVATOR, WAKES
from activator_stage import ActivatorStage
from peers import BenchError
from proxy import check_writable
from scenarios import progress
from table import machine, print_machine, print_shortfalls, print_table, write_json


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--bin', metavar='DIR', required=True, type=pathlib.Path,
                        help='where the built activator and queue-proxy are')
    parser.add_argument('--held', metavar='PATH', type=pathlib.Path,
                        help='the built helper of this bench (default: ../tests/held beside DIR)')
    parser.add_argument('--json', metavar='FILE', type=pathlib.Path, help='also write FILE')
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--seconds', type=int, default=1, help='of each round and peer')
    parser.add_argument('--wakes', type=int, default=WAKES)
    parser.add_argument('--only', metavar='SCENARIO', action='append', choices=ACTIVATOR,
                        help=f'one of {", ".join(ACTIVATOR)}; may be given again')
    options = parser.parse_args()
    if min(options.rounds, options.seconds, options.wakes) < 1:
        parser.error('--rounds, --seconds and --wakes begin at 1')
    options.bin = options.bin.resolve()
    options.held = (options.held or options.bin.parent / 'tests' / 'held').resolve()
    return options


def measure(options):
    if options.json is not None:
        check_writable(options.json)
    here = machine()
    rows, failed = [], []
    for name in options.only or ACTIVATOR:
        progress(f'== {name}')
        try:
            with tempfile.TemporaryDirectory(prefix='sluice-bench-') as folder, \
                    ActivatorStage(folder, options.bin, options.held) as stage:
                rows += ACTIVATOR[name](stage, options)
        except (BenchError, OSError, subprocess.SubprocessError) as problem:
            failed.append(f'{name}: {problem}')
            progress(f'  {problem}')
    print_table(rows)
    print_shortfalls(rows)
    print_machine(here)
    if options.json is not None:
        write_json(options.json, rows, here,
                   {'rounds': options.rounds, 'seconds_per_round': options.seconds,
                    'wakes': options.wakes, 'failed': failed})
    if failed:
        raise BenchError('not measured: ' + '; '.join(failed))


def main():
    options = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        measure(options)
    except BenchError as problem:
        sys.exit(f'bench activator: {problem}')


if __name__ == '__main__':
    main()
