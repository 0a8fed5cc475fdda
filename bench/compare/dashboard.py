"""The budgets of the dashboard: what open pages cost an engine of one machine, and what the page costs a browser.

Prints each figure beside its bar, and what other programs of the machine did meanwhile; figures of a busy machine prove
nothing. A figure that is short of its bar fails only with --check; one that could not be measured always does.
Behind `./dev bench dashboard`; method: bench/README.md.
"""

import argparse
import pathlib
import signal
import subprocess
import sys

import dashboard_engine
import page
from engines import load_tests
from meters import OtherWork
from peers import BenchError
from proxy import check_writable
from scenarios import progress
from table import VALUE, place, print_machine, print_shortfalls, shown, write_json

PARTS = {'service': dashboard_engine.service, 'fleet': dashboard_engine.fleet, 'door': dashboard_engine.door,
         'answers': dashboard_engine.answers, 'script': page.script, 'heap': page.heap}
OF_BROWSER = ('script', 'heap')
PART_SECONDS_MAX = 1800   # beside the minutes of the heap
BUSY_CORES = 0.2          # of other programs: figures are then in doubt


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--bin', metavar='DIR', required=True, type=pathlib.Path,
                        help='where the built sluice and queue-proxy are')
    parser.add_argument('--only', metavar='PART', action='append', choices=PARTS, help=f'one of {", ".join(PARTS)}; may be given again')
    parser.add_argument('--json', metavar='FILE', type=pathlib.Path, help='also write FILE')
    parser.add_argument('--check', action='store_true', help='exit status 1 below a bar')
    parser.add_argument('--minutes', type=int, default=30, help='of the heap of a tab, 2 at least')
    parser.add_argument('--rounds', type=int, default=5, help='of each figure of the engine; twice as many of the front door')
    parser.add_argument('--seconds', type=int, default=10, help='of each round')
    parser.add_argument('--services', type=int, default=10_000, help='of the part `answers`')
    parser.add_argument('--awake', type=int, default=20, help='of these')
    parser.add_argument('--answers', type=int, default=20, help='for each path')
    options = parser.parse_args()
    if min(options.rounds, options.seconds, options.answers) < 1 or not 1 <= options.awake < options.services:
        parser.error('--rounds, --seconds, --answers and --awake begin at 1, --services is more than --awake')
    if options.minutes < 2:
        parser.error('--minutes begins at 2')
    options.bin = options.bin.resolve()
    return options


def too_long(*_):
    raise BenchError('it took too long')


def measure(options):
    """(rows, what was not measured and why, cores of other work by part)."""
    rows, failed, others = [], [], {}
    for name in options.only or PARTS:
        progress(f'== {name}')
        if name in OF_BROWSER and options.browser:
            failed.append(f'{name}: no browser: {options.browser}')
            continue
        others_work = OtherWork()
        signal.alarm(PART_SECONDS_MAX + (60 * options.minutes if name == 'heap' else 0))
        try:
            found = PARTS[name](options)
            rows += found
            for row in found:
                progress(f'  {row.what}: {shown(row.median(VALUE))} {row.unit}')
        except (BenchError, AssertionError, OSError, EOFError, subprocess.SubprocessError, page.WebDriverError) as problem:
            failed.append(f'{name}: {problem}')
            progress(f'  {problem}')
        finally:
            signal.alarm(0)
        others[name] = others_work.cores()
    return rows, failed, others


def spread(rounds):
    return f'({shown(min(rounds))} to {shown(max(rounds))} of {len(rounds)})' if len(rounds) > 1 else ''


def print_budgets(rows):
    """Each figure with its spread, its bar and what it is made of."""
    lines = []
    for row in rows:
        parts = ', '.join(f'{name} {shown(row.median(name))}' for name in row.figures if name != VALUE)
        lines.append((row.what, shown(row.median(VALUE)), row.unit, row.bar_text(), row.verdict(), ' '.join(filter(None, (spread(row.figures[VALUE]), parts)))))
    widths = [max(len(line[column]) for line in lines) for column in range(5)]
    for what, value, unit, bar, verdict, more in lines:
        print(f'{what.ljust(widths[0])}  {value.rjust(widths[1])} {unit.ljust(widths[2])}  {bar.ljust(widths[3])}  {verdict.ljust(widths[4])}  {more}'.rstrip())


def main():
    options = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGALRM, too_long)
    load_tests(options.bin)
    try:
        if options.json is not None:
            check_writable(options.json)
    except BenchError as problem:
        sys.exit(f'bench dashboard: {problem}')
    here = place()
    options.browser = page.missing()
    rows, failed, others = measure(options)
    if rows:
        print_budgets(rows)
        print_shortfalls(rows)
    print_machine(here)
    print('other work meanwhile, in cores: ' + ', '.join(f'{name} {cores:.2f}' for name, cores in others.items())
          + (': figures in doubt' if max(others.values(), default=0) > BUSY_CORES else ''))
    if options.json is not None:
        write_json(options.json, rows, here, {'rounds': options.rounds, 'seconds': options.seconds, 'minutes': options.minutes,
                                              'other_work_cores': others, 'failed': failed})
    if failed:
        sys.exit('bench dashboard: not measured: ' + '; '.join(failed))
    if options.check and any(row.verdict() == 'short' for row in rows):
        sys.exit(1)


if __name__ == '__main__':
    main()
