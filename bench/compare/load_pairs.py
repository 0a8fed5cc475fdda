"""What `sluice load compare` says of runs that are equal, and of runs whose slowest requests take longer.

A server of this process answers after times of one distribution. Runs of `sluice load` against it, one after the other, are
compared each with each later one: no more than 5 of 100 comparisons may be `worse`. Then as many runs with a server whose slowest
20th part takes longer, so that p99 is 20 % higher, are compared with each of the first: at least 95 of 100 are to be `worse` at p99.
Behind `./dev bench load pairs`; method: bench/README.md.
"""

import argparse
import asyncio
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import threading

from table import place, print_machine

WORSE_MAX = 0.05
FOUND_MIN = 0.95
MEDIAN_S, SPREAD = 0.03, 0.3
# 5 % of a normal distribution are above it.
SLOWEST = 1.645
# 30 ms · e^(0.3 · 2.326) = 60.3 ms at p99; a fifth of that.
SLOWER_S = 0.012
WAIT_SECONDS = 300


class Server:
    """An HTTP server on a thread of its own; `slower` is added to the slowest answers."""

    def __init__(self):
        self.slower = 0.0
        self.random = random.Random(1)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self.serve, '127.0.0.1', 0), self.loop).result()
        self.port = self.server.sockets[0].getsockname()[1]

    def delay(self):
        at = self.random.gauss(0, 1)
        return MEDIAN_S * 2.718281828 ** (SPREAD * at) + (self.slower if at > SLOWEST else 0)

    async def serve(self, reader, writer):
        try:
            while await reader.readuntil(b'\r\n\r\n'):
                await asyncio.sleep(self.delay())
                writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


class Pairs:
    """Runs in a folder, and what comparisons of them say."""

    def __init__(self, sluice, folder, options):
        self.sluice, self.folder, self.options = sluice, folder, options
        self.server = Server()

    def runs(self, name, count):
        reports = []
        for number in range(count):
            report = self.folder / f'{name}-{number}.json'
            subprocess.run([self.sluice, 'load', f'http://127.0.0.1:{self.server.port}/', '--rate', str(self.options.rate), '-d',
                            f'{self.options.seconds}s', '--json', str(report)], check=True, stdout=subprocess.DEVNULL,
                           timeout=self.options.seconds + WAIT_SECONDS)
            late = json.loads(report.read_text())['generator']['late']
            print(f'{name} run {number + 1} of {count}{": LATE" if late else ""}', flush=True)
            reports.append(report)
        return reports

    def compared(self, before, now):
        done = subprocess.run([self.sluice, 'load', 'compare', str(before), str(now), '-o', 'json'], stdout=subprocess.PIPE,
                              check=False, timeout=WAIT_SECONDS)
        if done.returncode not in (0, 4):
            sys.exit(f'bench load pairs: sluice load compare ended with {done.returncode}')
        return json.loads(done.stdout)

    def measure(self):
        """(pairs, of these worse, pairs with a slower one, of these found)."""
        equal = self.runs('equal', self.options.runs)
        pairs = [(one, other) for at, one in enumerate(equal) for other in equal[at + 1:]]
        worse = [self.compared(*pair)['verdict'] for pair in pairs].count('worse')
        self.server.slower = SLOWER_S
        slower = self.runs('slower', max(1, self.options.runs // 2))
        others = [(one, other) for one in equal for other in slower]
        found = 0
        for pair in others:
            figures = self.compared(*pair)['comparisons'][0]['figures']
            found += any(row['figure'] == 'p99' and row['verdict'] == 'worse' for row in figures)
        return len(pairs), worse, len(others), found


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--bin', metavar='DIR', required=True, type=pathlib.Path, help='where the built sluice is')
    parser.add_argument('--runs', metavar='N', type=int, default=15, help='equal runs; half as many slower ones')
    parser.add_argument('--seconds', metavar='N', type=int, default=60, help='length of a run')
    parser.add_argument('--rate', metavar='N', type=int, default=200, help='requests per second')
    options = parser.parse_args()
    if options.runs < 2 or options.seconds < 1 or options.rate < 1:
        parser.error('--runs is at least 2, --seconds and --rate are at least 1')
    return options


def main():
    options = parsed()
    print_machine(place())
    with tempfile.TemporaryDirectory() as folder:
        pairs, worse, others, found = Pairs(str(options.bin.resolve() / 'sluice'), pathlib.Path(folder), options).measure()
    print(f'equal runs: {worse} of {pairs} pairs are worse; at most {WORSE_MAX:.0%} may be')
    print(f'p99 20 % higher: found in {found} of {others} pairs; in at least {FOUND_MIN:.0%} it is to be')
    sys.exit(0 if worse <= WORSE_MAX * pairs and found >= FOUND_MIN * others else 1)


if __name__ == '__main__':
    main()
