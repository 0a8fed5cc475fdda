"""Stands between a program and the API server, records everything, and spoils what a test selects.

    proxy = lab.fault_proxy()
    program = lab.spawn([...], {'KUBECONFIG': proxy.kubeconfig})
    proxy.fault(Status(429, retry_after=1), lambda request: request.writes, times=3)
    mark = proxy.mark()
    ...
    proxy.count(since=mark, writes=True)
"""

import asyncio
import copy
import dataclasses
import ssl
import threading
import time
import urllib.parse

from lab.http_stream import Message, StreamEnded, read_head, read_rest

LOG_MAX = 200_000
CONNECT_SECONDS = 10
WRITING = ('POST', 'PUT', 'PATCH', 'DELETE')


@dataclasses.dataclass
class Request:
    """One line of the log; `status` is 0 until it is answered, or if it never was."""
    method: str
    path: str
    query: dict
    agent: str
    at: float
    status: int = 0

    @property
    def writes(self):
        return self.method in WRITING

    @property
    def watches(self):
        return self.query.get('watch') in ('1', 'true')


class Slow:
    """Answers come `seconds` late."""

    def __init__(self, seconds):
        self.seconds = seconds


class Status:
    """Answers with a status of its own; the server gets nothing."""

    def __init__(self, code, retry_after=None):
        self.code = code
        self.retry_after = retry_after

    def bytes(self):
        body = f'{{"kind":"Status","apiVersion":"v1","status":"Failure","message":"lab","code":{self.code}}}'
        late = f'Retry-After: {self.retry_after}\r\n' if self.retry_after is not None else ''
        return (f'HTTP/1.1 {self.code} Lab\r\nContent-Type: application/json\r\n{late}'
                f'Content-Length: {len(body)}\r\n\r\n{body}').encode()


class Garbage:
    """Answers with these bytes as the body of a 200, or as no HTTP at all."""

    def __init__(self, body=b'\x00\xff{"kind":', http=True):
        self.body = body
        self.http = http

    def bytes(self):
        head = (f'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
                f'Content-Length: {len(self.body)}\r\n\r\n').encode()
        return (head if self.http else b'') + self.body


class Drop:
    """Closes the connection instead of answering."""


class Hang:
    """Never answers; the connection stays."""


class Cut:
    """Breaks the connection within the body: after `bytes` of it, or in the middle of the event that
    comes after `events` whole ones."""

    def __init__(self, bytes=None, events=None):
        self.bytes = bytes
        self.left = events

    def portion(self, passed, piece):
        """What may still pass of a piece, after `passed` bytes; and whether that is the end."""
        if self.bytes is not None:
            room = self.bytes - passed
            return (piece, False) if len(piece) <= room else (piece[:room], True)
        start = 0
        while self.left > 0:
            end = piece.find(b'\n', start)
            if end < 0:
                return piece, False
            self.left -= 1
            start = end + 1
        rest = piece[start:]
        return (piece[:start] + rest[:max(1, len(rest) // 2)], True) if rest else (piece, False)


class FaultProxy:
    """TLS on both sides, HTTP/1.1; runs on a thread of its own until close()."""

    def __init__(self, upstream, certificate, ca):
        parts = urllib.parse.urlsplit(upstream)
        self.upstream = (parts.hostname, parts.port)
        self.ca = ca
        self.server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server_context.load_cert_chain(*certificate)
        self.client_context = ssl.create_default_context(cafile=ca)
        self.lock = threading.Condition()
        self.log = []
        self.faults = []  # [fault, condition, how many times yet]
        self.writers = set()
        self.tasks = set()
        self.loop = asyncio.new_event_loop()
        self.server = None
        self.refusing = False  # what was in its handshake meanwhile is broken too
        self.port = 0
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.run(self.listen())
        self.kubeconfig = None  # set where a token is known

    # ---- for tests ----

    @property
    def url(self):
        return f'https://127.0.0.1:{self.port}'

    def fault(self, fault, when=lambda request: True, times=None):
        """From now on, requests with when(request) suffer it; `times` of them, then none."""
        with self.lock:
            self.faults.append([fault, when, times])

    def clear(self):
        """Everything passes again; what is broken stays broken."""
        with self.lock:
            self.faults.clear()

    def drop_connections(self):
        """Breaks every connection there is."""
        self.loop.call_soon_threadsafe(self.abort_all)

    def refuse(self):
        """Nothing listens any more, and every connection is broken; until accept()."""
        self.run(self.unlisten())

    def accept(self):
        """Listens again, at the same port."""
        self.run(self.listen())

    def mark(self):
        with self.lock:
            return len(self.log)

    def requests(self, since=0, **wanted):
        """Requests after a mark() with these properties: method, path, agent, status, writes, watches."""
        with self.lock:
            return [one for one in self.log[since:]
                    if all(getattr(one, name) == value for name, value in wanted.items())]

    def count(self, since=0, **wanted):
        return len(self.requests(since, **wanted))

    def close(self):
        if not self.loop.is_running():
            return
        self.run(self.unlisten())
        self.run(self.end_tasks())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()

    # ---- what it does, on its own thread ----

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(20)

    async def listen(self):
        self.refusing = False
        self.server = await asyncio.start_server(self.serve, '0.0.0.0', self.port, ssl=self.server_context)
        self.port = self.server.sockets[0].getsockname()[1]

    async def unlisten(self):
        self.refusing = True
        self.server.close()
        self.abort_all()
        await self.server.wait_closed()

    def abort_all(self):
        for writer in list(self.writers):
            writer.transport.abort()

    async def end_tasks(self):
        while self.tasks:  # wait_for of Python 3.11 may lose a cancellation
            for task in self.tasks:
                task.cancel()
            await asyncio.wait(list(self.tasks), timeout=1)

    async def serve(self, reader, writer):
        """One connection of a program, with one to the server behind it."""
        if self.refusing:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        self.tasks.add(task)
        self.writers.add(writer)
        behind = None
        try:
            while (head := await read_head(reader)) is not None:
                request = self.note(head)
                fault = self.chosen(request)
                body = await read_rest(reader, head)
                if behind is None:
                    behind = await asyncio.wait_for(
                        asyncio.open_connection(*self.upstream, ssl=self.client_context), CONNECT_SECONDS)
                if not await self.exchange(request, fault, head.raw + body, behind, writer):
                    break
        except (OSError, StreamEnded, asyncio.IncompleteReadError, asyncio.TimeoutError):
            writer.transport.abort()
        except asyncio.CancelledError:
            pass
        finally:
            for one in (writer, behind and behind[1]):
                if one:
                    one.close()
            self.writers.discard(writer)
            self.tasks.discard(task)

    def note(self, head):
        method, target, _ = head.start.split(' ', 2)
        parts = urllib.parse.urlsplit(target)
        request = Request(method, parts.path, dict(urllib.parse.parse_qsl(parts.query)),
                          head.headers.get('user-agent', ''), time.monotonic())
        with self.lock:
            if len(self.log) >= LOG_MAX:
                raise AssertionError(f'more than {LOG_MAX} requests through one proxy')
            self.log.append(request)
        return request

    def chosen(self, request):
        with self.lock:
            for one in self.faults:
                fault, when, times = one
                if times != 0 and when(request):
                    one[2] = None if times is None else times - 1
                    return copy.copy(fault)  # one that counts starts again
        return None

    async def exchange(self, request, fault, raw, behind, writer):
        """Passes one request and its answer; false when the connection shall end."""
        if isinstance(fault, Hang):
            await asyncio.Event().wait()
        if isinstance(fault, Drop):
            writer.transport.abort()
            return False
        if isinstance(fault, (Status, Garbage)):
            request.status = getattr(fault, 'code', 200)
            writer.write(fault.bytes())
            await writer.drain()
            return isinstance(fault, Status) or fault.http
        if isinstance(fault, Slow):
            await asyncio.sleep(fault.seconds)
        behind[1].write(raw)
        head = await read_head(behind[0])
        if head is None:
            raise StreamEnded
        request.status = head.status
        writer.write(head.raw)
        return await self.relay(Message(behind[0], head, request.method), writer,
                                fault if isinstance(fault, Cut) else None)

    @staticmethod
    async def relay(message, writer, cut):
        passed = 0
        async for piece in message.pieces():
            over = False
            if cut:
                piece, over = cut.portion(passed, piece)
            passed += len(piece)
            writer.write(message.framed(piece))
            await writer.drain()
            if over:
                writer.close()  # what was written goes out; no last chunk does
                return False
        writer.write(message.end())
        await writer.drain()
        return message.reusable
