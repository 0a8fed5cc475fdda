"""`sluice load` beside other load generators: what each reports of a server that stands still, and what a request costs it.

The stall: an nginx is stopped for 500 ms in the middle of 10 s at 1,000 requests a second. A generator whose latency begins
when a request falls due reports p99 400, p99.9 490, max 500 ms; one that waits with sending reports a few slow requests.
The cost: CPU of the generator per request, closed loop and open loop, the smallest of the rounds, and the ratio of ours to
theirs round by round. Peers that are not installed are named, with where they come from. Behind `./dev bench load peers`;
method: bench/README.md.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import typing

from peers import BenchError, Stage
from table import place, print_machine

OURS = 'sluice load'
RATE = 1000
STALL_RUN_SECONDS = 10
STALL_AT_SECONDS = 5
STALL_SECONDS = 0.5
CONNECTIONS = 16
OURS_LIMITED = f'{OURS} -c {CONNECTIONS}'
OPEN_RATE = 5000
MS = 1e3


@dataclasses.dataclass
class Run:
    """What a generator says of a run, in ms, and what it used."""
    requests: int
    cpu_us: float   # of the generator, per request
    p99: float | None = None
    p99_9: float | None = None
    most: float | None = None


@dataclasses.dataclass(frozen=True)
class Generator:
    """A load generator: `command(url, rate, seconds)`, rate None for a closed loop; `read(output)` gives
    (requests, p99, p99.9, max) with times in ms."""
    name: str
    program: str
    command: typing.Callable
    read: typing.Callable
    source: str   # where it can be had
    kinds: tuple = ('open', 'closed')


def share(ordered, part):
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else None


def of_times(times):
    """(requests, p99, p99.9, max) of all latencies in ms."""
    ordered = sorted(times)
    return len(ordered), share(ordered, 0.99), share(ordered, 0.999), ordered[-1] if ordered else None


def sluice_command(more):
    def command(url, rate, seconds):
        pace = ['-c', str(CONNECTIONS)] if rate is None else ['--rate', str(rate), '--arrivals', 'uniform', *more]
        return ['sluice', 'load', url, *pace, '-d', f'{seconds}s', '-o', 'json']
    return command


def read_sluice(output):
    report = json.loads(output)
    latency = report['latency_ms']
    return report['requests']['answered'], latency['p99'], latency['p99_9'], latency['max']


def hey_command(url, rate, seconds):
    # Its rate is that of each connection.
    pace = [] if rate is None else ['-q', str(rate / CONNECTIONS)]
    return ['hey', '-z', f'{seconds}s', '-c', str(CONNECTIONS), *pace, '-o', 'csv', url]


def read_hey(output):
    return of_times([float(line.split(',', 1)[0]) * MS for line in output.splitlines()[1:] if line[:1].isdigit()])


def vegeta_command(url, rate, seconds):
    attack = f'vegeta attack -rate={rate} -duration={seconds}s -max-workers=10000'
    return ['sh', '-c', f'echo "GET {url}" | {attack} | vegeta encode --to csv']


def read_vegeta(output):
    return of_times([int(line.split(',')[2]) / 1e6 for line in output.splitlines() if line])


def wrk_command(url, _, seconds):
    return ['wrk', '-t1', f'-c{CONNECTIONS}', f'-d{seconds}s', '--latency', url]


def in_ms(text):
    for unit, factor in (('us', 1e-3), ('ms', 1), ('s', 1e3), ('m', 6e4)):
        if text.endswith(unit):
            return float(text[:-len(unit)]) * factor
    raise BenchError(f'wrk says {text!r}, which is no time')


def read_wrk(output):
    def found(pattern):
        return re.search(pattern, output, re.MULTILINE).group(1)
    return int(found(r'(\d+) requests in')), in_ms(found(r'^ +99% +(\S+)')), None, in_ms(found(r'^ +Latency +\S+ +\S+ +(\S+)'))


def fortio_command(url, rate, seconds):
    return ['fortio', 'load', '-quiet', '-qps', str(rate or 0), '-c', str(CONNECTIONS), '-t', f'{seconds}s', '-p', '99,99.9', '-json', '-', url]


def read_fortio(output):
    found = json.loads(output[output.index('{'):])['DurationHistogram']
    points = {point['Percentile']: point['Value'] * MS for point in found['Percentiles']}
    return found['Count'], points[99], points[99.9], found['Max'] * MS


GENERATORS = (
    Generator(OURS, 'sluice', sluice_command([]), read_sluice, 'this build'),
    Generator(OURS_LIMITED, 'sluice', sluice_command(['-c', str(CONNECTIONS)]), read_sluice, 'this build', ('open',)),
    Generator('wrk', 'wrk', wrk_command, read_wrk, 'Debian: wrk', ('closed',)),
    Generator('hey', 'hey', hey_command, read_hey, 'Debian: hey'),
    Generator('vegeta', 'vegeta', vegeta_command, read_vegeta, 'go install github.com/tsenart/vegeta/v12@latest', ('open',)),
    Generator('fortio', 'fortio', fortio_command, read_fortio, 'go install fortio.org/fortio@latest'),
)
NOT_IN_REGISTRIES = 'wrk2: in no package registry; k6: its licence (AGPL) does not suit us'


def run(generator, url, rate, seconds):
    """One run, with the CPU time of the generator and of all that it started."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(generator.command(url, rate, seconds), stdout=out, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        output = out.read().decode(errors='replace')
    if child.returncode:
        raise BenchError(f'{generator.name} ended with {child.returncode}: {output.strip()[-300:]}')
    requests, p99, p99_9, most = generator.read(output)
    if not requests:
        raise BenchError(f'{generator.name} had no answer')
    return Run(requests, (used.ru_utime + used.ru_stime) / requests * 1e6, p99, p99_9, most)


def stalled(generator, backend):
    """A run at RATE, closed where the generator has no other, while the backend stands still once."""
    url = f'http://127.0.0.1:{backend.port}/'
    over = threading.Event()

    def pause():
        # One after the other, so that a busy machine makes the pause longer at most.
        if not over.wait(STALL_AT_SECONDS):
            os.kill(backend.pid, signal.SIGSTOP)
            over.wait(STALL_SECONDS)
            os.kill(backend.pid, signal.SIGCONT)

    pausing = threading.Thread(target=pause)
    pausing.start()
    try:
        return run(generator, url, RATE if 'open' in generator.kinds else None, STALL_RUN_SECONDS)
    finally:
        over.set()
        pausing.join()


def shown(value):
    return '-' if value is None else f'{value:.1f}'


def print_stalls(generators, backend):
    print(f'A server that is paused for {STALL_SECONDS * MS:.0f} ms in {STALL_RUN_SECONDS} s at {RATE}/s (of wrk: as fast as it can), ms')
    print(f'{"":<20} {"requests":>9} {"p99":>8} {"p99.9":>8} {"max":>8}   true: 400, 490, 500')
    for generator in generators:
        found = stalled(generator, backend)
        print(f'{generator.name:<20} {found.requests:>9} {shown(found.p99):>8} {shown(found.p99_9):>8} {shown(found.most):>8}', flush=True)


def print_costs(generators, backend, kind, rounds, seconds):
    """CPU per request of those that have such a loop, ours first."""
    url = f'http://127.0.0.1:{backend.port}/'
    rate = None if kind == 'closed' else OPEN_RATE
    those = [generator for generator in generators if kind in generator.kinds]
    seen = {generator.name: [] for generator in those}
    for number in range(rounds):
        for generator in those[number % len(those):] + those[:number % len(those)]:
            seen[generator.name].append(run(generator, url, rate, seconds))
    print(f'\nCPU of the generator per request, {kind} loop' + ('' if rate is None else f' at {rate}/s') +
          f', {CONNECTIONS} connections where they can be set, us')
    print(f'{"":<20} {"smallest":>9} {"median":>8}   ours to theirs, median of {rounds} rounds (lowest, highest)')
    ours = OURS if kind == 'closed' else OURS_LIMITED
    for name, found in seen.items():
        costs = [one.cpu_us for one in found]
        ratios = [one.cpu_us / theirs.cpu_us for one, theirs in zip(seen[ours], found)]
        against = '' if name.startswith(OURS) else f'{statistics.median(ratios):.2f} ({min(ratios):.2f}, {max(ratios):.2f})'
        print(f'{name:<20} {min(costs):>9.1f} {statistics.median(costs):>8.1f}   {against}'.rstrip(), flush=True)


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--bin', metavar='DIR', required=True, type=pathlib.Path, help='where the built sluice is')
    parser.add_argument('--rounds', type=int, default=5, help='of the costs')
    parser.add_argument('--seconds', type=int, default=3, help='of each round and generator')
    options = parser.parse_args()
    if min(options.rounds, options.seconds) < 1:
        parser.error('--rounds and --seconds begin at 1')
    return options


def main():
    options = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.environ['PATH'] = f'{options.bin.resolve()}{os.pathsep}{os.environ["PATH"]}'
    there = [generator for generator in GENERATORS if shutil.which(generator.program)]
    here = place()
    print_machine(here)
    for generator in GENERATORS:
        if generator not in there:
            print(f'not here: {generator.name} ({generator.source})')
    print(f'not measured: {NOT_IN_REGISTRIES}\n')
    try:
        with tempfile.TemporaryDirectory(prefix='sluice-bench-') as folder, Stage(folder, None) as stage:
            backend = stage.backend()
            print_stalls(there, backend)
            for kind in ('closed', 'open'):
                print_costs(there, backend, kind, options.rounds, options.seconds)
    except BenchError as problem:
        sys.exit(f'bench load peers: {problem}')


if __name__ == '__main__':
    main()
