"""Sends numbered POSTs at planned times: open_loop.py HOST:PORT RATE SEED FILE SERVICE...

`sluice load` sends one body to one service; here each has the service and a number of its own as body. The times of each service are
planned from the seed, RATE a second on average, and do not depend on responses. SIGTERM ends the sending. Then FILE
gets a line of each request: service, number, when it was planned, sent and over (seconds of the monotonic clock), and
`ok` or what came instead of its number. No request is sent twice.
"""

import asyncio
import random
import selectors
import signal
import sys

IDLE_SECONDS = 4          # a connection that was idle for longer is not used again: servers close them from 5 s on
CONNECTIONS_MAX = 150     # of a service; select() takes 1024 in all
PATIENCE_SECONDS = 30     # for responses after the last request


class Request:
    def __init__(self, service, number, planned):
        self.service = service
        self.number = number
        self.planned = planned
        self.sent = self.over = 0.0
        self.outcome = 'no answer'

    @property
    def name(self):
        return f'{self.service} {self.number}'

    def line(self):
        return f'{self.name} {self.planned:.6f} {self.sent:.6f} {self.over:.6f} {self.outcome}\n'


class Connection(asyncio.Protocol):
    """One request at a time; returns itself to the idle ones of its service."""

    def __init__(self, service):
        self.service = service
        self.request = None
        self.data = b''
        self.transport = None

    def connection_made(self, transport):
        self.transport = transport

    def send(self, request):
        self.request = request
        self.data = b''
        request.sent = self.service.loop.time()
        body = request.name.encode()
        self.transport.write(b'POST / HTTP/1.1\r\nHost: %s.localhost\r\nContent-Length: %d\r\n\r\n%s'
                             % (self.service.name.encode(), len(body), body))

    def data_received(self, data):
        self.data += data
        head, end, body = self.data.partition(b'\r\n\r\n')
        if not end or not self.request:
            return
        headers = {name.lower(): value.strip()
                   for name, _, value in (line.partition(b':') for line in head.split(b'\r\n')[1:])}
        length = int(headers.get(b'content-length', b'0'))
        if len(body) < length:
            return
        status = head.split(b' ', 2)[1].decode()
        if status == '200' and body == self.request.name.encode():
            self.end('ok')
        else:
            self.end(f'status {status} {headers.get(b"sluice-error", b"").decode()}'.rstrip())
        if headers.get(b'connection', b'').lower() == b'close':
            self.transport.close()
        else:
            self.service.idle.append((self.service.loop.time(), self))

    def end(self, outcome):
        request, self.request = self.request, None
        request.outcome = outcome
        request.over = self.service.loop.time()
        self.service.running -= 1

    def connection_lost(self, _):
        self.service.connections -= 1
        self.service.idle = [(since, other) for since, other in self.service.idle if other is not self]
        if self.request:
            self.end('closed after a part of the response' if self.data else 'closed without a response')


class Service:
    """The requests to one service, and its connections."""

    def __init__(self, loop, address, name, rate, seed):
        self.loop = loop
        self.address = address
        self.name = name
        self.rate = rate
        self.gaps = random.Random(f'{seed} {name}')
        self.idle = []
        self.connections = self.running = 0
        self.requests = []
        self.tasks = set()

    async def send_until(self, stopped):
        planned = self.loop.time()
        while True:
            planned += self.gaps.expovariate(self.rate)
            await asyncio.sleep(planned - self.loop.time())
            if stopped.is_set():
                return
            self.begin(planned)

    def begin(self, planned):
        request = Request(self.name, len(self.requests), planned)
        self.requests.append(request)
        self.running += 1
        while self.idle:
            since, connection = self.idle.pop()
            if self.loop.time() - since < IDLE_SECONDS and not connection.transport.is_closing():
                connection.send(request)
                return
            connection.transport.close()
        task = self.loop.create_task(self.send_on_new(request))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def send_on_new(self, request):
        if self.connections >= CONNECTIONS_MAX:
            request.outcome = 'not sent'
            self.running -= 1
            return
        self.connections += 1
        try:
            _, connection = await self.loop.create_connection(lambda: Connection(self), *self.address)
        except OSError as problem:
            self.connections -= 1
            self.running -= 1
            request.outcome = f'not sent: {problem.strerror}'
            return
        connection.send(request)


async def send(address, rate, seed, names):
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    services = [Service(loop, address, name, rate, seed) for name in names]
    await asyncio.gather(*(service.send_until(stopped) for service in services))
    deadline = loop.time() + PATIENCE_SECONDS
    while any(service.running for service in services) and loop.time() < deadline:
        await asyncio.sleep(0.01)
    return [request for service in services for request in service.requests]


def main():
    address, rate, seed, file, *names = sys.argv[1:]
    host, port = address.rsplit(':', 1)
    # select() waits for parts of a millisecond; epoll's whole ones would be a part of each latency.
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    requests = loop.run_until_complete(send((host, int(port)), float(rate), seed, names))
    with open(file, 'w', encoding='utf-8') as lines:
        lines.writelines(request.line() for request in requests)


if __name__ == '__main__':
    main()
