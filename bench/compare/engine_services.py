"""What a request costs an engine of one machine that has many other services, all of them asleep.

Two engines take turns under the same load: one with a single service, one with a thousand of which only the loaded one
is awake. Its name comes last, so that a walk over the services would meet all the others first.
Prints the engine's CPU per request and the ratio of each pair of rounds beside the bar; a figure that is short of it is
a report and fails nothing, since a shared machine proves nothing.
Behind `./dev bench engine`; method: bench/README.md.
"""

import argparse
import pathlib
import signal
import statistics
import sys
import tempfile
import threading

from engines import DOCUMENT, load_tests
from meters import Shape, cpu_round, cpu_seconds, fetch
from peers import BenchError
from scenarios import interleaved, progress

BAR = 1.2
CONNECTIONS = 16
IDLE_SECONDS = 5
SERVED = 'z-served'


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--bin', metavar='DIR', required=True, type=pathlib.Path,
                        help='where the built sluice and queue-proxy are')
    parser.add_argument('--services', type=int, default=1000)
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--seconds', type=int, default=2, help='of each round and engine')
    options = parser.parse_args()
    if min(options.rounds, options.seconds) < 1 or options.services < 2:
        parser.error('--rounds and --seconds begin at 1, --services at 2')
    options.bin = options.bin.resolve()
    return options


class Peer:
    """`sluice up` with this many services, one of them awake."""

    def __init__(self, services):
        from engine import SLUICE, Engine, Home
        self.name = '1 service' if services == 1 else f'{services} services'
        self.home = Home()
        file = self.home.path / 'services.yaml'
        names = [f'asleep-{number:05}' for number in range(services - 1)] + [SERVED]
        file.write_text('---\n'.join(DOCUMENT.format(name=name, sluice=SLUICE) for name in names))
        try:
            self.program = Engine(self.home, '-f', str(file))
        except AssertionError as problem:
            self.home.close()
            raise BenchError(f'{self.name}: {problem}') from problem
        self.pid = self.program.pid
        self.port = int(self.program.http.rsplit(':', 1)[1])

    def wake(self):
        status, _ = fetch(self.port, '/', host=f'{SERVED}.localhost', timeout=60)
        if status != 200:
            raise BenchError(f'{self.name}: the service answered {status}')
        answer = self.program.get('/_sluice/metrics', host='localhost')
        if answer.status != 200:
            raise BenchError(f'{self.name}: its metrics answered {answer.status}')

    def idle_ms(self):
        """CPU milliseconds per second without requests."""
        before = cpu_seconds(self.pid)
        threading.Event().wait(IDLE_SECONDS)
        return (cpu_seconds(self.pid) - before) / IDLE_SECONDS * 1000

    def close(self):
        self.program.kill()
        self.home.close()


def verdict(ratios):
    # As printed: a bar is not missed by a thousandth that cannot be measured.
    return 'ok' if round(statistics.median(ratios), 2) <= BAR else 'short'


def measure(options, peers, folder):
    shape = Shape(connections=CONNECTIONS, host=f'{SERVED}.localhost')
    for peer in peers:
        peer.wake()
        cpu_round(peer, shape, 1, folder)
    seen = interleaved(peers, options.rounds,
                       lambda peer: cpu_round(peer, shape, options.seconds, folder))
    for peer in peers:
        rounds = seen[peer.name]
        print(f'{peer.name:<15} {statistics.median(one.cpu_us for one in rounds):6.1f} us of engine CPU a request, '
              f'{statistics.median(one.rate for one in rounds):6.0f} requests/s, '
              f'{peer.idle_ms():.1f} ms/s without requests')
    one, many = (seen[peer.name] for peer in peers)
    ratios = [above.cpu_us / below.cpu_us for above, below in zip(many, one)]
    print(f'ratio           {statistics.median(ratios):6.2f} ({min(ratios):.2f}-{max(ratios):.2f} of {len(ratios)} '
          f'pairs of rounds)  bar <= {BAR:g}  {verdict(ratios)}')


def main():
    options = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    load_tests(options.bin)
    peers = []
    try:
        with tempfile.TemporaryDirectory(prefix='sluice-bench-') as folder:
            for services in (1, options.services):
                progress(f'== an engine of {services}')
                peers.append(Peer(services))
            measure(options, peers, folder)
    except BenchError as problem:
        sys.exit(f'bench engine: {problem}')
    finally:
        for peer in peers:
            peer.close()


if __name__ == '__main__':
    main()
