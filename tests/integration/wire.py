"""HTTP over plain sockets: what a test sends and what it gets, byte by byte."""

import json
import socket
import threading
import time

PATIENCE = 20  # seconds


class Deadline:
    """A point in time that every wait of a test respects."""

    def __init__(self, seconds):
        self.at = time.monotonic() + seconds

    def left(self):
        return max(0.001, self.at - time.monotonic())

    def passed(self):
        return time.monotonic() >= self.at


def eventually(condition, what, seconds=PATIENCE):
    """Waits until `condition()` is true and returns its value; fails naming `what`."""
    deadline = Deadline(seconds)
    pause = threading.Event()
    while not (value := condition()):
        if deadline.passed():
            raise AssertionError(f'after {seconds} s still not: {what}')
        pause.wait(0.005)
    return value


def connect(address, timeout=PATIENCE):
    """A connected socket; `address` is host:port or unix:/path."""
    if address.startswith('unix:'):
        made = socket.socket(socket.AF_UNIX)
        made.settimeout(timeout)
        made.connect(address[5:])
        return made
    host, port = address.rsplit(':', 1)
    return socket.create_connection((host or '127.0.0.1', int(port)), timeout=timeout)


class Answer:
    """A response: status, headers by lower-case name, body, and whether it ended as promised."""

    def __init__(self, status, headers, body, whole):
        self.status = status
        self.headers = headers
        self.body = body
        self.whole = whole

    def json(self):
        return json.loads(self.body)


class Reader:
    """Reads responses from a socket that may carry several."""

    def __init__(self, sock):
        self.sock = sock
        self.data = b''
        self.trailers = {}  # of the chunked body read last

    def more(self):
        part = self.sock.recv(65536)
        self.data += part
        return bool(part)

    def until(self, mark):
        while mark not in self.data:
            if not self.more():
                return None
        head, self.data = self.data.split(mark, 1)
        return head

    def exactly(self, count):
        while len(self.data) < count and self.more():
            pass
        got, self.data = self.data[:count], self.data[count:]
        return got

    def head(self):
        """(status, headers) of the next response, or None at the end of the connection."""
        head = self.until(b'\r\n\r\n')
        if head is None:
            return None
        lines = head.decode('latin-1').split('\r\n')
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(':')
            name = name.strip().lower()
            headers[name] = f'{headers[name]}, {value.strip()}' if name in headers else value.strip()
        return int(lines[0].split()[1]), headers

    def chunks(self):
        body = b''
        while True:
            size = self.until(b'\r\n')
            if size is None:
                return body, False
            count = int(size.split(b';')[0], 16)
            if count == 0:
                return body, self.read_trailers()
            part = self.exactly(count + 2)
            if len(part) < count + 2:
                return body + part, False
            body += part[:-2]

    def read_trailers(self):
        self.trailers = {}
        while (line := self.until(b'\r\n')) is not None:
            if not line:
                return True
            name, _, value = line.decode('latin-1').partition(':')
            self.trailers[name.strip().lower()] = value.strip()
        return False

    def answer(self, method='GET'):
        """The next final response; interim ones are passed over. None: the connection ended."""
        while True:
            head = self.head()
            if head is None:
                return None
            if head[0] >= 200 or head[0] == 101:
                break
        status, headers = head
        if method == 'HEAD' or status in (204, 304, 101):
            return Answer(status, headers, b'', True)
        if headers.get('transfer-encoding', '').lower() == 'chunked':
            body, whole = self.chunks()
        elif 'content-length' in headers:
            count = int(headers['content-length'])
            body = self.exactly(count)
            whole = len(body) == count
        else:
            while self.more():
                pass
            body, whole, self.data = self.data, True, b''
        return Answer(status, headers, body, whole)


def request_bytes(method, path, host, headers=(), body=b''):
    lines = [f'{method} {path} HTTP/1.1', f'Host: {host}']
    lines += [f'{name}: {value}' for name, value in headers]
    if body:
        lines.append(f'Content-Length: {len(body)}')
    return ('\r\n'.join(lines) + '\r\n\r\n').encode('latin-1') + body


def fetch(address, path='/', host='app.localhost', method='GET', headers=(), body=b'', timeout=PATIENCE):
    """One request on a connection of its own; None when it was closed without a response."""
    with connect(address, timeout) as sock:
        sock.sendall(request_bytes(method, path, host, list(headers) + [('Connection', 'close')], body))
        try:
            return Reader(sock).answer(method)
        except ConnectionResetError:
            return None


def scraped(address):
    """{series with its labels: value} of one look at /metrics."""
    body = fetch(address, '/metrics', host='localhost').body.decode()
    rows = (line.rsplit(' ', 1) for line in body.splitlines() if line and line[0] != '#')
    return {name: float(value) for name, value in rows}
