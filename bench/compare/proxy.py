"""The sidecar beside nginx, HAProxy and nghttpx as reverse proxies of one backend.

Prints a table of figures beside their bars. A figure that is short of its bar is a report and fails
nothing, since a shared machine proves nothing; a peer or a tool that fails does.
Behind `./dev bench proxy`; method: bench/README.md.
"""

import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from footprint import FOOTPRINT
from peers import BenchError, Stage
from scenarios import CPU_AND_LATENCY, progress
from table import machine, print_machine, print_shortfalls, print_table, write_json

SCENARIOS = {**CPU_AND_LATENCY, **FOOTPRINT}


def check_writable(file):
    """Says what is wrong with the target before minutes of measuring, not after."""
    if file.is_dir() or not file.parent.is_dir() or not os.access(
            file if file.exists() else file.parent, os.W_OK):
        raise BenchError(f'--json {file} cannot be written; name a file in a folder that exists')


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--queue-proxy', metavar='PATH', required=True, help='the built sidecar')
    parser.add_argument('--micro-bench', metavar='PATH',
                        help='the built micro_bench (default: ../bench/micro_bench beside it)')
    parser.add_argument('--knative', metavar='PATH', help="a queue-proxy of Knative's to measure too")
    parser.add_argument('--json', metavar='FILE', type=pathlib.Path, help='also write FILE')
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--seconds', type=int, default=1, help='of each round and peer')
    parser.add_argument('--rate', type=float, help='requests/s for the latency (default: half of '
                        'saturation)')
    parser.add_argument('--only', metavar='SCENARIO', action='append', choices=SCENARIOS,
                        help=f'one of {", ".join(SCENARIOS)}; may be given again')
    options = parser.parse_args()
    if options.rounds < 1 or options.seconds < 1:
        parser.error('--rounds and --seconds begin at 1')
    if options.micro_bench is None:
        options.micro_bench = pathlib.Path(options.queue_proxy).parent.parent / 'bench' / 'micro_bench'
    return options


def measure(options):
    if options.json is not None:
        check_writable(options.json)
    here = machine()
    rows, failed = [], []
    for name in options.only or SCENARIOS:
        progress(f'== {name}')
        try:
            with tempfile.TemporaryDirectory(prefix='sluice-bench-') as folder, \
                    Stage(folder, options.queue_proxy, options.knative) as stage:
                rows += SCENARIOS[name](stage, options)
        except (BenchError, OSError, subprocess.SubprocessError) as problem:
            failed.append(f'{name}: {problem}')
            progress(f'  {problem}')
    print_table(rows)
    print_shortfalls(rows)
    print_machine(here)
    print(f'ratio: median of {options.rounds} per-round ratios (lowest and highest round); '
          'nginx with its default buffering unless it says unbuffered')
    if options.json is not None:
        write_json(options.json, rows, here,
                   {'rounds': options.rounds, 'seconds_per_round': options.seconds, 'failed': failed})
    if failed:
        raise BenchError('not measured: ' + '; '.join(failed))


def main():
    options = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        measure(options)
    except BenchError as problem:
        sys.exit(f'bench proxy: {problem}')


if __name__ == '__main__':
    main()
