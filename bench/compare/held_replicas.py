"""What a request pays when its replica is held: `sluice up` stops replicas without requests while memory is short, and
the request has to let its replica run on first.

One engine with one replica, over a machine that is a file, so that memory is short or not as the bench says. In turns:
the first request to a held replica, and one to a replica that ran as long without a request. Prints the time to the
first byte of both and the median of the differences beside the bar; a figure that is short of it is a report and fails
nothing, since a shared machine proves nothing. Behind `./dev bench held`; method: bench/README.md.
"""

import argparse
import pathlib
import signal
import socket
import statistics
import sys
import threading
import time

from engine_services import load_tests
from peers import BenchError

BAR_MS = 1.0
REQUEST = b'GET / HTTP/1.1\r\nHost: app.localhost\r\n\r\n'
FULL_MIB, ROOM_MIB = 70, 900   # free, of 1024


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--bin', metavar='DIR', required=True, type=pathlib.Path,
                        help='where the built sluice and queue-proxy are')
    parser.add_argument('--rounds', type=int, default=25)
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error('--rounds begins at 1')
    options.bin = options.bin.resolve()
    return options


class Service:
    """An engine with one replica of the built-in app, and one connection to it."""

    def __init__(self):
        from engine import SLUICE, Engine, Home
        from test_memory_pressure import Machine
        self.home = Home()
        self.machine = Machine(self.home, ROOM_MIB)
        try:
            self.engine = Engine(self.home, '--name', 'app', '--min', '1', '--max', '1', '--', SLUICE, 'demo-app')
        except AssertionError as problem:
            self.home.close()
            raise BenchError(str(problem)) from problem
        self.engine.wait_status(lambda status: status['ready'] == 1)
        self.client = socket.create_connection(('127.0.0.1', int(self.engine.http.rsplit(':', 1)[1])), timeout=30)
        self.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def first_byte_ms(self):
        begun = time.perf_counter()
        self.client.sendall(REQUEST)
        answer = self.client.recv(65536)
        took = time.perf_counter() - begun
        if not answer.startswith(b'HTTP/1.1 200'):
            raise BenchError(f'the service answered {answer[:40]!r}')
        return took * 1000

    def after_a_rest(self, held):
        """The next request, once the replica is held, or has had none for as long."""
        self.machine.available(FULL_MIB if held else ROOM_MIB)
        begun = time.monotonic()
        if held:
            self.engine.wait_status(lambda status: bool(status['replicas'][0].get('held')))
            self.rest = time.monotonic() - begun
        else:
            self.engine.wait_status(lambda status: not status['replicas'][0].get('held'))
            threading.Event().wait(max(0.0, self.rest - (time.monotonic() - begun)))
        return self.first_byte_ms()

    def close(self):
        self.engine.kill()
        self.home.close()


def measure(service, rounds):
    pairs = [(service.after_a_rest(True), service.after_a_rest(False)) for _ in range(rounds)]
    more = [held - free for held, free in pairs]
    for name, times in (('held', [held for held, _ in pairs]), ('not held', [free for _, free in pairs])):
        print(f'{name:<9} {statistics.median(times):6.2f} ms to the first byte (at most {max(times):.2f})')
    median = statistics.median(more)
    print(f'more      {median:6.2f} ms ({min(more):.2f} to {max(more):.2f} of {rounds} pairs)  bar <= {BAR_MS:g} ms  '
          f'{"ok" if round(median, 2) <= BAR_MS else "short"}')


def main():
    options = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    load_tests(options.bin)
    service = None
    try:
        service = Service()
        measure(service, options.rounds)
    except BenchError as problem:
        sys.exit(f'bench held: {problem}')
    finally:
        if service is not None:
            service.close()


if __name__ == '__main__':
    main()
