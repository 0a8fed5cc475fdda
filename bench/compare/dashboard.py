"""What answers that a page reads cost an engine of one machine with many services, all but a few of them asleep.

For each path: how long an answer takes, the engine's CPU for one, and for how long the front door stands still
meanwhile: a second connection asks for an unknown host all the time, which the engine answers by itself, and its
longest wait is that hold. The same without any answer is the noise of the machine.
Behind `./dev bench dashboard`; method: bench/README.md.
"""

import argparse
import pathlib
import socket
import statistics
import threading
import time

from engines import DOCUMENT, load_tests
from meters import cpu_seconds

API = '/_sluice/api/v1'
BAR_MS = 2
QUIET_SECONDS = 0.02
IN_FILE = 1000
PATHS = ('services?limit=100', 'services?limit=1000', 'services?brief=1&limit=100', 'services?brief=1&limit=1000',
         'services?brief=1&limit=100&sort=rps', 'services?brief=1&limit=100&q=7', 'overview',
         'services/default/awake-0', 'services/default/awake-0/series?since=6h', 'memory')


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--bin', metavar='DIR', required=True, type=pathlib.Path,
                        help='where the built sluice and queue-proxy are')
    parser.add_argument('--services', type=int, default=10_000)
    parser.add_argument('--awake', type=int, default=20, help='of them')
    parser.add_argument('--answers', type=int, default=20, help='for each path')
    options = parser.parse_args()
    if options.answers < 1 or not 1 <= options.awake < options.services:
        parser.error('--answers and --awake begin at 1, --services is more than --awake')
    options.bin = options.bin.resolve()
    return options


class Asker:
    """One kept connection to the front door."""

    def __init__(self, address):
        host, port = address.rsplit(':', 1)
        self.socket = socket.create_connection((host, int(port)), 30)
        self.rest = b''

    def ask(self, path, host='localhost'):
        """Status and body."""
        self.socket.sendall(f'GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n'.encode())
        head = self.until(b'\r\n\r\n').decode()
        length = [line.split(':')[1] for line in head.split('\r\n') if line.lower().startswith('content-length')]
        return int(head.split()[1]), self.exactly(int(length[0]))

    def until(self, mark):
        while mark not in self.rest:
            self.more()
        text, self.rest = self.rest.split(mark, 1)
        return text

    def exactly(self, count):
        while len(self.rest) < count:
            self.more()
        text, self.rest = self.rest[:count], self.rest[count:]
        return text

    def more(self):
        piece = self.socket.recv(1 << 20)
        if not piece:
            raise EOFError('the engine closed the connection')
        self.rest += piece


class Prober(threading.Thread):
    """Asks for an unknown host all the time; `waits` has how long each answer took, in ms."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.asker, self.waits, self.ended = Asker(address), [], False

    def run(self):
        while not self.ended:
            begin = time.perf_counter()
            self.asker.ask('/', host='unknown.example')
            self.waits.append((time.perf_counter() - begin) * 1000)

    def take(self):
        waits, self.waits = self.waits, []
        return waits


def measure(engine, prober, path, answers):
    asker = Asker(engine.http)
    pause = threading.Event()
    took, size, holds = [], 0, []
    prober.take()
    for _ in range(answers):
        pause.wait(QUIET_SECONDS)
        prober.take()
        begin = time.perf_counter()
        status, body = asker.ask(f'{API}/{path}') if path else (200, b'')
        if not path:
            pause.wait(QUIET_SECONDS)
        took.append((time.perf_counter() - begin) * 1000)
        pause.wait(QUIET_SECONDS)
        holds.append(max(prober.take(), default=0))
        if status != 200:
            return f'{path:<46} {status}'
        size = len(body)
    hold = statistics.median(holds)
    verdict = '' if not path else 'ok' if hold <= BAR_MS else 'short'
    return f'{path or "nothing: the noise":<46} {statistics.median(took):8.1f} ms {size / 1000:8.1f} KB  holds ' \
           f'{hold:6.2f} ms (most {max(holds):.2f})  {verdict}'


def cpu_ms(engine, path, answers):
    asker = Asker(engine.http)
    begin = cpu_seconds(engine.pid)
    for _ in range(answers):
        asker.ask(f'{API}/{path}')
    return (cpu_seconds(engine.pid) - begin) / answers * 1000


def main():
    options = parsed()
    load_tests(options.bin)
    from engine import SLUICE, Engine, Home
    home = Home()
    names = [f'awake-{number}' for number in range(options.awake)]
    names += [f'asleep-{number:05}' for number in range(options.services - options.awake)]
    folder = home.path / 'services'
    folder.mkdir()
    for begin in range(0, len(names), IN_FILE):
        documents = [DOCUMENT.format(name=name, sluice=SLUICE) for name in names[begin:begin + IN_FILE]]
        (folder / f'{begin}.yaml').write_text('---\n'.join(documents))
    engine = Engine(home, '-f', str(folder))
    try:
        for name in names[:options.awake]:
            engine.get('/', host=f'{name}.localhost', timeout=60)
        print(f'{options.services} services, {options.awake} awake; bar: holds <= {BAR_MS} ms')
        costs = {path: cpu_ms(engine, path, options.answers) for path in PATHS}
        prober = Prober(engine.http)
        prober.start()
        print(measure(engine, prober, '', options.answers))
        for path in PATHS:
            print(measure(engine, prober, path, options.answers) + f'  {costs[path]:.2f} ms of CPU')
        prober.ended = True
        prober.join(10)
    finally:
        engine.kill()
        home.close()


if __name__ == '__main__':
    main()
