"""R3 of placement.md 9 with real processes: what moves cost that an arriving service causes.

Five services on one machine answer POSTs at planned times while others arrive that need the room of one to five of
them; each POST has a number, which the application writes down. Prints figures beside their bars. Behind
`./dev bench placement real`; method: ../README.md.
"""

import argparse
import collections
import os
import pathlib
import platform
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]

from verdict import LATE_MS, Request, accounts, durations, lag_ms, latencies, print_report  # noqa: E402

RATE = 50   # requests a second to each service
STEADY_SECONDS = 60
COUNTS = (1, 2, 3, 4, 5) * 4
QUICK_STEADY_SECONDS = 3
QUICK_COUNTS = (1, 3)


def parsed():
    parser = argparse.ArgumentParser(prog='./dev bench placement real', allow_abbrev=False,
                                     description=__doc__.split('\n', maxsplit=1)[0])
    add = parser.add_argument
    add('--bin', metavar='DIR', required=True, type=pathlib.Path, help='where the built sluice and queue-proxy are')
    add('--check', action='store_true', help='exit status 1 when a request was lost, delivered twice, or cut')
    add('--quick', action='store_true', help='two rounds after three steady seconds')
    add('--seed', type=int, default=1, help='of the planned times (1)')
    return parser.parse_args()


class Load:
    """A running open_loop.py."""

    def __init__(self, machine, services, options):
        self.file = machine.home.path / 'requests'
        command = [sys.executable, '-B', str(HERE / 'open_loop.py'), machine.engine.http, str(RATE),
                   str(options.seed), str(self.file), *services]
        self.process = subprocess.Popen(command)

    def end(self):
        """Its requests."""
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(60) != 0:
            raise AssertionError(f'the sender ended with {self.process.returncode}')
        return [Request.of(line) for line in self.file.read_text().splitlines()]

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)


def play(machine, counts, steady_seconds):
    """The steady time, as (begin, end), and the rounds."""
    begun = time.monotonic()
    threading.Event().wait(steady_seconds)
    steady = begun, time.monotonic()
    rounds = []
    for at, count in enumerate(counts):
        if rounds:
            machine.go_back(rounds[-1].moved)
        rounds.append(machine.round(count))
        print(f'round {at + 1} of {len(counts)}: {count} moved in {rounds[-1].move_seconds:.2f} s', file=sys.stderr,
              flush=True)
    return steady, rounds


def told(requests, wrong, options):
    lag = lag_ms(requests)
    notes = [f'seed {options.seed}; {len(requests)} POSTs, {RATE} a second to each of 5 services; the sender '
             f'was late by {lag:.2f} ms (p99)' + (': LATE' if lag > LATE_MS else ''),
             f'Linux {platform.release()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}']
    return notes + [f'{each.name}: {each.outcome}' for each in wrong[:10]]


def measured(options):
    """Prints the table; whether nothing was lost, delivered twice, or cut."""
    from machine import SERVICES, Machine
    counts, steady_seconds = (QUICK_COUNTS, QUICK_STEADY_SECONDS) if options.quick else (COUNTS, STEADY_SECONDS)
    machine = Machine()
    load = None
    try:
        load = Load(machine, SERVICES, options)
        steady, rounds = play(machine, counts, steady_seconds)
        requests = load.end()
        cut = machine.cut()
        machine.engine.stop()
        written = collections.Counter(machine.journal.read_text().splitlines())
    finally:
        if load:
            load.kill()
        machine.close()
    rows, wrong = accounts(requests, written, cut)
    rows += durations(rounds)
    rows += latencies(requests, rounds, [each for each in requests if steady[0] <= each.planned < steady[1]])
    print_report(f'R3 real: {len(rounds)} arrivals that moved real processes', told(requests, wrong, options), rows)
    return all(row.met for row in rows if row.fails)


def main():
    options = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.environ['SLUICE_BIN'] = str(options.bin.resolve())
    sys.path.insert(1, str(ROOT / 'tests' / 'integration'))
    from machine import Failed
    try:
        met = measured(options)
    except (Failed, AssertionError) as problem:
        print(f'R3 real: {problem}', file=sys.stderr)
        return 1
    return 1 if options.check and not met else 0


if __name__ == '__main__':
    sys.exit(main())
