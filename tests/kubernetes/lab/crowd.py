"""Clients that come in bursts and are silent in between, and a record of how each request ended.

A request is sent to the address of a Service, as from a pod beside it. It is

    answered   200, by the service that was asked, whole;
    sent again where it was not taken: no connection was made, or one that was kept from an earlier answer
               ended without a byte. So does every client of HTTP, for a GET, and it stays one request;
    broken     anything else. The account tells whether a kill explains it; if none does, it is lost.
"""

import asyncio
import collections
import dataclasses
import random
import threading
import time

CONNECT_SECONDS = 5
PATIENCE = 60        # seconds; for the answer to a request
TRIES_MAX = 100
TRY_PAUSE = 0.1
END_SECONDS = PATIENCE + 30


class Untaken(Exception):
    """The request was not taken."""


@dataclasses.dataclass
class Sent:
    """One request."""

    service: str
    began: float        # time.monotonic()
    ended: float = 0.0
    outcome: str = ''   # answered, or what went wrong
    tries: int = 0

    @property
    def answered(self):
        return self.outcome == 'answered'


class Client:
    """One connection, one request after the other."""

    def __init__(self, service, address):
        self.service = service
        self.host, port = address.rsplit(':', 1)
        self.port = int(port)
        self.streams = None

    def drop(self):
        if self.streams:
            self.streams[1].close()
            self.streams = None

    async def ask(self, path):
        sent = Sent(self.service, time.monotonic())
        try:
            while not await self.attempt(sent, path):
                await asyncio.sleep(TRY_PAUSE)
        finally:
            sent.ended = time.monotonic()
        return sent

    async def attempt(self, sent, path):
        """Whether the request has come to an end."""
        sent.tries += 1
        try:
            sent.outcome = await asyncio.wait_for(self.exchange(path), PATIENCE)
        except Untaken as why:
            self.drop()
            sent.outcome = f'not taken: {why}'
            return sent.tries == TRIES_MAX
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.TimeoutError) as problem:
            self.drop()
            sent.outcome = repr(problem)
        return True

    async def open(self):
        try:
            self.streams = await asyncio.wait_for(asyncio.open_connection(self.host, self.port), CONNECT_SECONDS)
        except (OSError, asyncio.TimeoutError) as problem:
            raise Untaken(repr(problem)) from problem

    async def exchange(self, path):
        kept = self.streams is not None
        if not kept:
            await self.open()
        reader, writer = self.streams
        writer.write(f'GET {path} HTTP/1.1\r\nHost: {self.service}\r\n\r\n'.encode())
        try:
            first = await reader.readexactly(1)
        except (OSError, asyncio.IncompleteReadError) as problem:
            if kept:
                raise Untaken('a kept connection had ended') from problem
            raise
        head = (first + await reader.readuntil(b'\r\n\r\n')).decode('latin-1').lower().split('\r\n')
        fields = dict(line.partition(':')[::2] for line in head[1:] if line)
        body = (await reader.readexactly(int(fields['content-length']))).decode()
        if fields.get('connection', '').strip() == 'close':
            self.drop()
        if head[0].split()[1] != '200':
            return f'{head[0]} {fields.get("sluice-error", "").strip()} {body.strip()}'
        return 'answered' if body.startswith(f'{self.service} ') else f'the answer of another: {body}'


class Crowd:
    """Clients of several services, {name: address}, on a thread of their own; stop() ends them."""

    def __init__(self, addresses, seed, burst=(4, 8), silence=(16, 22), clients=4, longest_ms=400):
        self.addresses = addresses
        self.seed = seed
        self.burst, self.silence = burst, silence
        self.clients = clients
        self.longest_ms = longest_ms
        self.sent = []
        self.stopping = False
        self.thread = threading.Thread(target=lambda: asyncio.run(self.play()), daemon=True)
        self.thread.start()

    def stop(self):
        self.stopping = True
        self.thread.join(END_SECONDS)
        if self.thread.is_alive():
            raise AssertionError('the clients did not end')

    async def play(self):
        await asyncio.gather(*(self.play_service(name, address) for name, address in self.addresses.items()))

    async def rest(self, seconds):
        over = time.monotonic() + seconds
        while time.monotonic() < over and not self.stopping:
            await asyncio.sleep(0.2)

    async def play_service(self, name, address):
        choice = random.Random(f'{self.seed} {name}')
        await self.rest(choice.uniform(0, self.silence[1]))
        while not self.stopping:
            until = time.monotonic() + choice.uniform(*self.burst)
            await asyncio.gather(*(self.come(Client(name, address), choice, until)
                                   for _ in range(choice.randint(1, self.clients))))
            await self.rest(choice.uniform(*self.silence))

    async def come(self, client, choice, until):
        while time.monotonic() < until and not self.stopping:
            self.sent.append(await client.ask(f'/?ms={choice.randint(1, self.longest_ms)}'))
            await asyncio.sleep(choice.uniform(0, 0.1))
        client.drop()


class Steady:
    """Clients of one service, each of which sends the next request as soon as it is answered; stop() ends them."""

    def __init__(self, service, address, clients, milliseconds):
        self.service, self.address = service, address
        self.path = f'/?ms={milliseconds}'
        self.sent = []
        self.clients = clients
        self.thread = threading.Thread(target=lambda: asyncio.run(self.play()), daemon=True)
        self.thread.start()

    def become(self, clients):
        self.clients = clients

    def stop(self):
        self.become(0)
        self.thread.join(END_SECONDS)
        if self.thread.is_alive():
            raise AssertionError('the clients did not end')
        return self.sent

    async def play(self):
        """One task for each client that there ever was; who is too many rests, and all end with the last."""
        begun = []
        while self.clients:
            begun += [asyncio.create_task(self.come(number)) for number in range(len(begun), self.clients)]
            await asyncio.sleep(0.05)
        await asyncio.gather(*begun)

    async def come(self, number):
        client = Client(self.service, self.address)
        while self.clients:
            if number < self.clients:
                self.sent.append(await client.ask(self.path))
            else:
                client.drop()
                await asyncio.sleep(0.05)
        client.drop()


def account(sent, kills, before=0.5, after=5.0):
    """(lost, broken by kills, sent again) of requests; `kills`: [(service or None for all, when)].

    A request is broken by a kill that happened while it ran, or so shortly before it that the dead were
    still named.
    """
    def explained(one):
        return any(service in (None, one.service) and one.began - after <= at <= one.ended + before
                   for service, at in kills)

    broken = [one for one in sent if not one.answered]
    lost = [one for one in broken if not explained(one)]
    return lost, [one for one in broken if explained(one)], [one for one in sent if one.tries > 1]


def printed(sent, kills):
    """The account as a person reads it."""
    lost, broken, again = account(sent, kills)
    told = [f'{len(sent)} sent, {sum(one.answered for one in sent)} answered, {len(broken)} broken by kills, '
            f'{len(lost)} lost; {len(again)} were sent again']
    for what, group in (('lost', lost), ('broken', broken)):
        told += [f'  {count} x {what}: {outcome}'
                 for outcome, count in collections.Counter(one.outcome for one in group).most_common(10)]
    return '\n'.join(told)
