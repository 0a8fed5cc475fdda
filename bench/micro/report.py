"""Runs the micro benchmarks and holds them against their bars: report.py PROGRAM [--json FILE].

Prints one row per figure: name, value, bar, and `ok` or `short`. A short figure is a report, not a
failure, since a shared machine proves nothing. With --json, FILE gets Google Benchmark's own JSON.
Behind `./dev bench micro`; method: bench/README.md.
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

# (benchmark, counter or None for its CPU time, unit, relation, bar). The bars: a sweep in a fraction of its two
# seconds, a stat in tens of nanoseconds, an average in a third of the 150 ns that Knative takes, a second's stats of
# 50,000 pods in a tenth of a core; a choice among pods, the end of another request included, that is negligible
# beside the request itself; a line of a trace such that a recorded day of ten million takes ten seconds.
BARS = (
    ('decider_sweep/10000', None, 'ms', '<', 50),
    ('decisions_told/revisions:10000/readers:0', None, 'ms', '<', 10),
    ('decisions_told/revisions:10000/readers:1', None, 'ms', None, None),
    ('decider_sweep/10000', 'bytes_per_revision', 'B', '<=', 8192),
    ('decider_sweep/10000', 'bytes_after_a_day', 'B', '<=', 8192),
    ('decider_sweep/10000', 'bytes_per_idle_revision', 'B', None, None),
    ('window_record', None, 'ns', '<', 50),
    ('window_record', 'allocations_per_item', '', '<=', 0),
    ('window_average/60', None, 'ns', '<=', 50),
    ('stat_ingest/50000', None, 'ms', '<', 100),
    *((f'throttler_pick/{policy}/{pods}', None, 'ns', '<', bar)
      for policy in ('first_available', 'round_robin', 'random_choice_2', 'least_in_flight')
      for pods, bar in ((10, 30), (10000, 100))),
    ('throttler_pick/least_in_flight/10000', 'allocations_per_item', '', '<=', 0),
    ('throttler_avoid/10000', None, 'us', '<', 10),
    ('throttler_replace/10000', None, 'us', '<', 10),
    ('throttler_release', None, 'ms', '<', 10),
    ('throttler_idle/10000', 'bytes_per_idle_revision', 'B', '<=', 700),
    ('placement_ask/1', None, 'ns', '<=', 1000),
    ('placement_ask/1', 'allocations_per_item', '', '<=', 0),
    ('placement_ask/3', None, 'ns', '<=', 1000),
    ('placement_ask/3', 'allocations_per_item', '', '<=', 0),
    ('placement_reserve', None, 'ns', '<=', 1000),
    ('placement_reserve', 'allocations_per_item', '', '<=', 0),
    ('placement_sweep/10000', None, 'ms', '<', 50),
    ('trace_csv', None, 'ns', '<', 1000),
    ('trace_csv', 'allocations_per_item', '', '<=', 0),
    ('placement_choose/50000', None, 'us', '<', 5),
    ('placement_choose/50000', 'allocations_per_item', '', '<=', 0),
)
NANOSECONDS = {'ns': 1, 'us': 1e3, 'ms': 1e6, 's': 1e9}


def fail(text, status=1):
    print(f'bench micro: {text}', file=sys.stderr)
    sys.exit(status)


def run(program, out):
    """Runs all benchmarks; their JSON lands in `out`."""
    command = [program, f'--benchmark_out={out}', '--benchmark_out_format=json']
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    except OSError as problem:
        fail(f'cannot run {program}: {problem.strerror}')
    # 1: something allocated in its steady state, which the table shows and a test of its own judges.
    if done.returncode not in (0, 1):
        fail(f'{program} ended with {done.returncode}:\n{done.stderr}')
    try:
        return json.loads(pathlib.Path(out).read_text())
    except (OSError, ValueError) as problem:
        fail(f'{program} left no JSON: {problem}\n{done.stderr}')


def value_of(result, counter, unit):
    if counter is not None:
        return result.get(counter)
    return result['cpu_time'] * NANOSECONDS[result['time_unit']] / NANOSECONDS[unit]


def shown(value, unit):
    digits = 0 if unit == 'B' else 2 if value < 100 else 1
    return f'{value:.{digits}f} {unit}'.rstrip()


def rows(results):
    """Yields (name, value, bar, verdict), those with a bar first, then the other benchmarks."""
    by_name = {result['name']: result for result in results}
    for name, counter, unit, relation, bar in BARS:
        label = name if counter is None else f'{name} {counter}'
        value = value_of(by_name[name], counter, unit) if name in by_name else None
        if value is None:
            yield label, 'missing', '', 'short' if relation else ''
        elif relation is None:
            yield label, shown(value, unit), '', ''
        else:
            met = value < bar if relation == '<' else value <= bar
            yield label, shown(value, unit), f'{relation} {bar} {unit}'.rstrip(), \
                'ok' if met else 'short'
    barred = {name for name, *_ in BARS}
    for name, result in by_name.items():
        if name not in barred:
            yield name, shown(value_of(result, None, 'ns'), 'ns'), '', ''


def print_table(table):
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    for name, value, bar, verdict in table:
        line = f'{name:<{widths[0]}}  {value:>{widths[1]}}  {bar:<{widths[2]}}  {verdict}'
        print(line.rstrip())


def check_writable(file):
    """Says what is wrong with the target before minutes of measuring, not after."""
    folder = file.parent
    if file.is_dir():
        fail(f'--json {file} is a directory; name a file')
    if not folder.is_dir():
        fail(f'--json {file}: there is no directory {folder}')
    if not os.access(file if file.exists() else folder, os.W_OK):
        fail(f'--json {file} cannot be written; choose another place')


def main():
    parser = argparse.ArgumentParser(description='micro benchmarks beside their bars')
    parser.add_argument('program', metavar='PROGRAM', help='the built micro_bench')
    parser.add_argument('--json', metavar='FILE', type=pathlib.Path,
                        help="also write Google Benchmark's JSON to FILE")
    parser.add_argument('--check', action='store_true',
                        help='only tell whether FILE can be written')
    given = parser.parse_args()
    if given.json is not None:
        check_writable(given.json)
    if given.check:
        return
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, 'micro.json')
        results = run(given.program, out)['benchmarks']
        print_table([('what', 'value', 'bar', ''), *rows(results)])
        commit = subprocess.run(['git', 'rev-parse', '--short', 'HEAD'], capture_output=True,
                                text=True, check=False).stdout.strip()
        print(f'{os.cpu_count()} cores, {platform.machine()}, Linux {platform.release()}, commit '
              f'{commit or "none"}')
        if given.json is not None:
            try:
                shutil.copyfile(out, given.json)
            except OSError as problem:
                fail(f'--json {given.json} could not be written: {problem.strerror}')


if __name__ == '__main__':
    main()
