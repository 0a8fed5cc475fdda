"""What an open page asks of an engine, without a browser: its stream and what it reads again and again."""

import pathlib
import select
import socket
import sys
import threading
import time
import urllib.parse

API = '/_sluice/api/v1'
LIST = 'services?brief=1&limit=100'
VIEW_ROWS = 38  # of a list in a window of 1440 by 1200, with those kept beyond its ends
LONG_LIST = 200
DOOR_SECONDS = 30


class Asker:
    """One kept connection to the front door."""

    def __init__(self, address):
        host, port = address.rsplit(':', 1)
        self.socket = socket.create_connection((host, int(port)), DOOR_SECONDS)
        self.rest = b''

    def ask(self, path, host='localhost'):
        """Status and body."""
        self.send(path, host)
        head = self.until(b'\r\n\r\n').decode()
        length = [line.split(':')[1] for line in head.split('\r\n') if line.lower().startswith('content-length')]
        return int(head.split()[1]), self.exactly(int(length[0]))

    def send(self, path, host='localhost'):
        self.socket.sendall(f'GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n'.encode())

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

    def close(self):
        self.socket.close()


class Page(threading.Thread):
    """An open page, as `common/dashboard/app.js` and `service.js` ask: a stream, and (seconds, paths) read again each so many seconds.

    `received` are the bytes of the stream so far; `problem` says what ended it before close().
    """

    def __init__(self, address, live, reads):
        super().__init__(daemon=True)
        self.stream, self.asker = Asker(address), Asker(address)
        self.live, self.reads = live, reads
        self.received, self.problem, self.ended = 0, '', False
        self.start()

    def run(self):
        try:
            self.read()
        except (OSError, EOFError, ValueError, RuntimeError) as problem:
            if not self.ended:
                self.problem = str(problem)

    def read(self):
        self.stream.send(f'{API}/{self.live}')
        head = self.stream.until(b'\r\n\r\n')
        if b' 200 ' not in head.split(b'\r\n')[0]:
            raise RuntimeError(f'{self.live}: {head.splitlines()[0].decode()}')
        due = [time.monotonic() + seconds for seconds, _ in self.reads]
        while not self.ended:
            wait = max(0, min(due) - time.monotonic())
            if select.select([self.stream.socket], [], [], wait)[0]:
                self.received += len(self.stream.rest)
                self.stream.rest = b''
                self.stream.more()
            for number, (seconds, paths) in enumerate(self.reads):
                if due[number] <= time.monotonic():
                    due[number] += seconds
                    for path in paths:
                        self.again(path)

    def again(self, path):
        status, _ = self.asker.ask(f'{API}/{path}')
        if status != 200:
            raise RuntimeError(f'{path}: {status}')

    def close(self):
        self.ended = True
        self.stream.socket.shutdown(socket.SHUT_RDWR)
        self.join(DOOR_SECONDS)
        self.stream.close()
        self.asker.close()


def list_reads(services):
    """The list, whole: each ten seconds, a long one each minute."""
    return (60 if services > LONG_LIST else 10, [LIST] * -(-services // 100))


def service_page(address, name, services=1):
    """A page that shows a service."""
    of_it = f'services/default/{name}'
    return Page(address, f'live?view=service&ns=default&name={name}',
                [(2, ['overview']), (10, ['memory', of_it, f'{of_it}/explain']), list_reads(services)])


def fleet_page(address, names, services):
    """A page that shows the list; `names` are those in view."""
    rows = urllib.parse.quote(','.join(f'default/{name}' for name in names[:VIEW_ROWS]), safe='')
    return Page(address, f'live?view=fleet&rows={rows}', [list_reads(services)])


class Relay(threading.Thread):
    """A door before the engine's for one browser. `streams` has the bytes that came back over each connection with a stream."""

    def __init__(self, address):
        super().__init__(daemon=True)
        host, port = address.rsplit(':', 1)
        self.engine = (host, int(port))
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        self.streams = []
        self.start()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
                engine = socket.create_connection(self.engine, DOOR_SECONDS)
            except OSError:
                return
            engine.settimeout(None)
            for each in (client, engine):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            passed = [0]
            threading.Thread(target=self.forward, args=(client, engine, passed, True), daemon=True).start()
            threading.Thread(target=self.forward, args=(engine, client, passed, False), daemon=True).start()

    def forward(self, source, sink, passed, asks):
        try:
            while piece := source.recv(1 << 16):
                if asks and b'/api/v1/live?' in piece:
                    passed[0] = 0
                    self.streams.append(passed)
                passed[0] += 0 if asks else len(piece)
                sink.sendall(piece)
        except OSError:
            pass
        for each in (source, sink):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        source.close()

    def received(self):
        """Bytes of the newest stream."""
        return self.streams[-1][0] if self.streams else 0

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.join(DOOR_SECONDS)


class BrowserPage:
    """The page itself, in a Chromium. Raises NoBrowser where there is none."""

    def __init__(self, address, fragment, ready):
        sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / 'tests' / 'browser'))
        from driver import Browser
        self.browser = Browser()
        self.relay = Relay(address)
        try:
            self.browser.open(f'http://sluice.localhost:{self.relay.port}/_sluice/{fragment}')
            self.browser.wait_text(ready, seconds=DOOR_SECONDS)
        except BaseException:
            self.close()
            raise

    problem = ''

    @property
    def received(self):
        return self.relay.received()

    def close(self):
        self.browser.close()
        self.relay.close()
