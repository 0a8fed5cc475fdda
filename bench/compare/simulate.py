"""What `sluice simulate` costs: one service as a multiple of real time, a day of 1,000 functions in the form of a public trace, and the
longest recording, beside their bars. No engine runs.

Prints a line per figure; exit status 1 when one is short of its bar.
"""

import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROUNDS = 5
MINUTES = 1440
FUNCTIONS = 1000
# Shares of the functions and how often they are called a day, at most: most are called rarely, a few all the time.
RATES = ((0.45, 24), (0.36, MINUTES), (0.17, 30 * MINUTES), (0.02, 2000 * MINUTES))
REAL_TIME_BAR = 10_000
CPU_BAR_S = 300
MEMORY_BAR_MIB = 512
RECORDING_BYTES = 1 << 30
RECORDING_MEMORY_BAR_MIB = 128


def run(sluice, *flags):
    """CPU seconds and the most memory in MiB of one run, with what it printed."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen([sluice, 'simulate', *flags], stdout=out)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f'bench simulate: sluice simulate {" ".join(flags)} ended with {child.returncode}')
        out.seek(0)
        return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, out.read().decode()


def day(function, seed):
    """Calls in each minute, as a trace of a day has them: some by the clock, some by people, some in bursts."""
    dice = random.Random(seed * FUNCTIONS + function)
    share = (function + 0.5) / FUNCTIONS
    low = 1
    for part, high in RATES:
        if share < part:
            break
        share, low = share - part, high
    calls = low * (high / low) ** dice.random()
    if dice.random() < 0.4:
        every = max(1, round(MINUTES / calls))
        return [max(1, round(calls / MINUTES)) if minute % every == 0 else 0 for minute in range(MINUTES)]
    busy = [dice.random() < 0.2 for _ in range(24)] if dice.random() < 0.3 else [True] * 24
    hours = max(1, sum(busy))
    return [poisson(dice, calls / (hours * 60)) if busy[minute // 60] else 0 for minute in range(MINUTES)]


def poisson(dice, mean):
    """A number of calls with this mean; above a hundred by its spread alone."""
    if mean > 100:
        return max(0, round(dice.gauss(mean, mean ** 0.5)))
    count, left = 0, dice.expovariate(1)
    while left < mean:
        count, left = count + 1, left + dice.expovariate(1)
    return count


def write_functions(folder, seed):
    name = folder / 'invocations_per_function_md.anon.d01.csv'
    calls = 0
    with name.open('w') as out, (folder / 'function_durations_percentiles.anon.d01.csv').open('w') as durations:
        out.write('HashOwner,HashApp,HashFunction,Trigger,' + ','.join(map(str, range(1, MINUTES + 1))) + '\n')
        durations.write('HashOwner,HashApp,HashFunction,Average,Count,Minimum,Maximum,percentile_Average_0,percentile_Average_1,'
                        'percentile_Average_25,percentile_Average_50,percentile_Average_75,percentile_Average_99,'
                        'percentile_Average_100\n')
        for function in range(FUNCTIONS):
            counts = day(function, seed)
            calls += sum(counts)
            out.write(f'o{function},a{function},f{function},http,' + ','.join(map(str, counts)) + '\n')
            median = random.Random(-function).lognormvariate(5, 1.5)
            points = [median * factor for factor in (0.1, 0.2, 0.6, 1, 1.7, 6, 10)]
            durations.write(f'o{function},a{function},f{function},{median:.0f},{sum(counts)},{points[0]:.0f},{points[-1]:.0f},'
                            + ','.join(f'{point:.0f}' for point in points) + '\n')
    return name, calls


def write_recording(source, path):
    """The lines of a recording again and again, each time later, up to RECORDING_BYTES."""
    head, *lines = subprocess.run(['gzip', '-dc', source], capture_output=True, text=True, check=True).stdout.splitlines(True)
    begin = json.loads(head)['at_ns']
    # What is before and behind the time of each line; those without one are left out.
    parts = [(before, int(time), behind) for before, time, behind in (re.split(r'(?<="at_ns":)(\d+)', line) for line in lines
                                                                      if '"at_ns":' in line)]
    length = max(time for _, time, _ in parts) - begin
    with path.open('w') as out:
        size, turn = out.write(head), 0
        while size < RECORDING_BYTES:
            size += out.write(''.join(f'{before}{time + turn * length}{behind}' for before, time, behind in parts))
            turn += 1


def row(name, value, bar, unit, most=True):
    good = value <= bar if most else value >= bar
    print(f'{name:58} {value:12,.1f} {unit:14} bar {"<=" if most else ">="} {bar:,} {unit}: {"ok" if good else "SHORT"}', flush=True)
    return good


def one_service(sluice):
    best = 0
    for _ in range(ROUNDS):
        cpu, _, printed = run(sluice, '--shape', '100:1h', '--concurrency', '10', '-o', 'json')
        best = max(best, json.loads(printed)['figures']['simulated_s'] / cpu)
    return row('one service at 100 requests/s', best, REAL_TIME_BAR, 'x real time', most=False)


def functions(sluice, folder, seed):
    trace, calls = write_functions(folder, seed)
    cpu, memory, printed = run(sluice, '--traffic', str(trace), '-o', 'json')
    figures = json.loads(printed)['figures']
    if figures['requests'] != calls:
        sys.exit(f'bench simulate: {calls} calls in the trace, {figures["requests"]} requests simulated')
    what = f'24 h of {FUNCTIONS:,} functions, {calls:,} calls'
    return [row(f'{what}: CPU', cpu, CPU_BAR_S, 's'), row(f'{what}: memory', memory, MEMORY_BAR_MIB, 'MiB')]


def recording(sluice, folder):
    source = pathlib.Path(__file__).resolve().parents[2] / 'tests' / 'recordings' / 'step.jsonl.gz'
    path = folder / 'long.jsonl'
    write_recording(source, path)
    good = []
    for what, flags in (('decided with another target', (str(path), '--set', 'target=3')),
                        ('simulated', ('--traffic', str(path), '--like', str(path)))):
        cpu, memory, _ = run(sluice, *flags, '-o', 'csv')
        print(f'{f"a recording of 1 GiB, {what}: CPU":58} {cpu:12,.1f} s', flush=True)
        good.append(row(f'a recording of 1 GiB, {what}: memory', memory, RECORDING_MEMORY_BAR_MIB, 'MiB'))
    return good


def main():
    options = argparse.ArgumentParser()
    options.add_argument('--bin', type=pathlib.Path, required=True)
    options.add_argument('--seed', type=int, default=1)
    options.add_argument('--recording', action='store_true', help='also a recording of 1 GiB, which needs as much room on disk')
    asked = options.parse_args()
    sluice = str(asked.bin / 'sluice')
    with tempfile.TemporaryDirectory(prefix='sluice-bench-') as name:
        folder = pathlib.Path(name)
        good = [one_service(sluice), *functions(sluice, folder, asked.seed)]
        if asked.recording:
            good += recording(sluice, folder)
    sys.exit(0 if all(good) else 1)


if __name__ == '__main__':
    main()
