"""An HTTP/1.1 client and a WebSocket client on asyncio, that report exactly how an attempt ended."""

import asyncio
import base64
import os

from lateness import Stopwatch
from queue_proxy.websocket import CLOSE, PING, PONG, TEXT, frame
from records import ABORTED, ANSWERED, CLOSED, REFUSED, UNTAKEN, WRONG

CONNECT_SECONDS = 10
GOING_AWAY = 1001
# A door that closes may close an idle connection while a request is on its way to it: within this
# time. What it has held for longer, it had taken.
RACE_SECONDS = 0.5
# What a broken connection raises here. A refused connection is handled before.
BROKEN = (OSError, asyncio.IncompleteReadError, EOFError)


class NotListening(Exception):
    """Nothing listens at the address: nothing was sent."""


class Connection:
    """One connection to a door. `served` counts the answers it has carried."""

    def __init__(self, reader, writer):
        self.reader = reader
        self.writer = writer
        self.served = 0
        self.heard = False  # a byte of the present answer
        self.asked = None   # Stopwatch: since the present request was written

    @classmethod
    async def open(cls, address):
        host, port = address.rsplit(':', 1)
        try:
            made = asyncio.open_connection(host, int(port))
            return cls(*await asyncio.wait_for(made, CONNECT_SECONDS))
        except (OSError, asyncio.TimeoutError) as error:
            raise NotListening(repr(error)) from error

    @property
    def usable(self):
        return not self.reader.at_eof() and not self.writer.is_closing()

    def close(self):
        self.writer.close()

    def send(self, request, lateness):
        self.heard = False
        self.asked = Stopwatch(lateness)
        self.writer.write(request)

    async def head(self):
        """(status, headers by lower-case name) of the next final response, or a 101."""
        while True:
            self.heard = False
            first = await self.reader.readexactly(1)
            self.heard = True
            raw = first + await self.reader.readuntil(b'\r\n\r\n')
            lines = raw[:-4].decode('latin-1').split('\r\n')
            status = int(lines[0].split(' ', 2)[1])
            if status >= 200 or status == 101:
                break
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(':')
            headers[name.lower()] = value.strip()
        return status, headers

    async def body(self, headers):
        if headers.get('transfer-encoding', '').lower() != 'chunked':
            return await self.reader.readexactly(int(headers.get('content-length', 0)))
        body = b''
        while True:
            size = int((await self.reader.readuntil(b'\r\n')).split(b';')[0], 16)
            part = await self.reader.readexactly(size + 2)
            if size == 0:
                return body
            body += part[:-2]


def chunked(body):
    """`body` in two chunks."""
    middle = len(body) // 2
    parts = [part for part in (body[:middle], body[middle:]) if part]
    return b''.join(b'%x\r\n%s\r\n' % (len(part), part) for part in parts) + b'0\r\n\r\n'


def request_bytes(ask, more=()):
    """The request that `ask` (traffic.Ask) describes."""
    lines = [f'{"POST" if ask.body else "GET"} /{ask.id} HTTP/1.1', f'Host: {ask.host}']
    lines += [f'{name}: {value}' for name, value in [*ask.headers, *more]]
    body = ask.body
    if ask.chunked:
        lines.append('Transfer-Encoding: chunked')
        body = chunked(body)
    elif body:
        lines.append(f'Content-Length: {len(body)}')
    return ('\r\n'.join(lines) + '\r\n\r\n').encode() + body


def told(attempt, status, headers, body):
    """Enters an answer of HTTP into `attempt`."""
    attempt.status = status
    attempt.cause = headers.get('sluice-error', '').split(';')[0].strip()
    attempt.pod = headers.get('x-soak-pod', '')
    text = body.decode('latin-1')
    own = f'{attempt.id} {attempt.pod}\n'
    if status != 200:
        attempt.outcome = REFUSED
        attempt.note = text.strip()[:200]
    elif headers.get('x-soak-id') == attempt.id and text.removeprefix('part:').startswith(own):
        attempt.outcome = ANSWERED
    else:
        attempt.outcome = WRONG
        attempt.note = f"{headers.get('x-soak-id')} {text[:80]!r}"


def broken(attempt, error, connection, door):
    """Enters a connection that ended under the attempt. Without a byte, from a door that closes and
    at once, it was not taken; the account sees to it that it did not begin."""
    held = connection.asked.seconds()
    untaken = not connection.heard and door.closing and held < RACE_SECONDS
    attempt.outcome = UNTAKEN if untaken else ABORTED
    how = 'closed' if connection.heard else 'closed before any byte'
    attempt.note = f'{how}: {error!r} {held:.3f} s after it was written'


async def exchange(connection, ask, attempt, door):
    """One request and its answer. False: the connection cannot be used again."""
    try:
        connection.send(request_bytes(ask), door.lateness)
        status, headers = await connection.head()
        body = await connection.body(headers)
    except BROKEN as error:
        broken(attempt, error, connection, door)
        return False
    told(attempt, status, headers, body)
    connection.served += 1
    return headers.get('connection', '').lower() != 'close'


async def read_frame(reader):
    """(opcode, payload) of one unmasked frame."""
    first, size = await reader.readexactly(2)
    if size == 126:
        size = int.from_bytes(await reader.readexactly(2), 'big')
    elif size == 127:
        size = int.from_bytes(await reader.readexactly(8), 'big')
    return first & 15, await reader.readexactly(size)


async def next_message(connection):
    """The next frame that is no ping; pings are answered."""
    while True:
        opcode, payload = await read_frame(connection.reader)
        if opcode == PING:
            connection.writer.write(frame(PONG, payload))
        elif opcode != PONG:
            return opcode, payload


async def converse(connection, ask, attempt, door, messages, pause):
    """A WebSocket with `messages` that must come back, `pause` seconds apart, then a close."""
    key = base64.b64encode(os.urandom(16)).decode()
    upgrade = (('Upgrade', 'websocket'), ('Connection', 'Upgrade'), ('Sec-WebSocket-Version', '13'),
               ('Sec-WebSocket-Key', key))
    try:
        connection.send(request_bytes(ask, upgrade), door.lateness)
        status, headers = await connection.head()
        if status != 101:
            told(attempt, status, headers, await connection.body(headers))
            return
        attempt.status, attempt.pod = status, headers.get('x-soak-pod', '')
        if headers.get('x-soak-id') != attempt.id:
            attempt.outcome, attempt.note = WRONG, headers.get('x-soak-id', '')
            return
        for number in range(messages):
            text = f'{attempt.id} message {number}'
            connection.writer.write(frame(TEXT, text.encode()))
            opcode, payload = await next_message(connection)
            if opcode == CLOSE:
                closed_by_them(connection, attempt, payload)
                return
            if payload.decode('latin-1') != f'{text} {attempt.pod}':
                attempt.outcome, attempt.note = WRONG, repr(payload[:80])
                return
            await asyncio.sleep(pause)
        connection.writer.write(frame(CLOSE, (1000).to_bytes(2, 'big')))
        opcode, payload = await next_message(connection)
    except BROKEN as error:
        broken(attempt, error, connection, door)
        return
    if opcode == CLOSE and int.from_bytes(payload[:2], 'big') == 1000:
        attempt.outcome = ANSWERED
    elif opcode == CLOSE:
        closed_by_them(connection, attempt, payload)
    else:
        attempt.outcome, attempt.note = WRONG, f'no close but {opcode} {payload[:80]!r}'


def closed_by_them(connection, attempt, payload):
    code = int.from_bytes(payload[:2], 'big')
    connection.writer.write(frame(CLOSE, payload[:2]))
    attempt.outcome = CLOSED if code == GOING_AWAY else ABORTED
    attempt.note = f'close {code}'
