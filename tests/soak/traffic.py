"""Mixed traffic, seeded: each revision has its own bursts and silences, each request its id."""

import asyncio
import dataclasses
import itertools

import h1_client
import h2_client
from h1_client import NotListening
from records import ABORTED, LEFT, SILENT, UNTAKEN, Attempt

PATIENCE = 90           # seconds; longer than any timeout of a revision
TRIES_MAX = 200
TRY_PAUSE = 0.05
NAMESPACE = 'default'
KINDS = {'http1': (('get', 35), ('get-alone', 15), ('post', 20), ('post-chunked', 5), ('parts', 10),
                   ('websocket', 15)),
         'h2c': (('stream', 40), ('stream-post', 20), ('grpc', 40))}
LEAVING = 0.01          # of the clients leave before their answer
SHORT_SILENCE = 0.25    # of the silences end before the window does


@dataclasses.dataclass
class Ask:
    """What is sent."""

    id: str
    host: str
    headers: list
    body: bytes
    chunked: bool
    grpc: bool


def weighted(choice, pairs):
    return choice.choices([kind for kind, _ in pairs], [weight for _, weight in pairs])[0]


def service_ms(choice):
    """Mostly short, some of them long enough to be met by a drain or a kill."""
    draw = choice.random()
    if draw < 0.6:
        return choice.randint(1, 30)
    return choice.randint(50, 400) if draw < 0.92 else choice.randint(1000, 4000)


def make_ask(choice, name, kind, revision):
    headers = [('X-Soak-Id', name), ('X-Soak-Ms', str(service_ms(choice)))]
    host = revision.hosts[0]
    if choice.random() < 0.5:
        headers += [('Knative-Serving-Namespace', NAMESPACE),
                    ('Knative-Serving-Revision', revision.name)]
    else:
        host = f'{revision.name}.{NAMESPACE}.svc.cluster.local'
    if choice.random() < 0.3:
        headers.append(('X-Soak-Size', str(choice.choice((10, 2000, 20000)))))
    if kind == 'parts':
        headers.append(('X-Soak-Parts', '2'))
    body = b''
    if kind in ('post', 'post-chunked', 'stream-post', 'grpc'):
        body = f'{name} '.encode() + b'.' * choice.choice((0, 100, 5000, 40000))
    return Ask(name, host, headers, body, kind == 'post-chunked', kind == 'grpc')


class Client:
    """One client of one revision; it asks one thing after the other."""

    def __init__(self, traffic, revision, choice):
        self.traffic = traffic
        self.revision = revision
        self.choice = choice
        self.connection = None  # kept alive, with its door
        self.door = None

    def drop(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    async def work(self, until):
        while self.traffic.now() < until and not self.traffic.stopping:
            await self.ask()
            await asyncio.sleep(self.choice.uniform(0, 0.12))
        self.drop()

    async def ask(self):
        """One request, sent again for as long as no program takes it."""
        request = next(self.traffic.requests)
        kind = weighted(self.choice, KINDS[self.revision.spec.protocol])
        leaves = self.choice.uniform(0.01, 0.5) if self.choice.random() < LEAVING else None
        model = make_ask(self.choice, '', kind, self.revision).__dict__
        for number in range(TRIES_MAX):
            name = f'q{request}.{number}'
            door = self.traffic.door(self.choice, number)
            attempt = Attempt(name, request, self.revision.name, kind, door.name,
                              self.traffic.now())
            self.traffic.attempts.append(attempt)
            await self.attempt(self.named(model, name), attempt, door, leaves)
            attempt.ended = self.traffic.now()
            if attempt.outcome != UNTAKEN:
                return
            await asyncio.sleep(TRY_PAUSE * min(number, 4))

    @staticmethod
    def named(model, name):
        """The request under the id of this attempt."""
        headers = [('X-Soak-Id', name), *model['headers'][1:]]
        body = name.encode() + model['body'] if model['body'] else b''
        return Ask(**{**model, 'id': name, 'headers': headers, 'body': body})

    async def attempt(self, ask, attempt, door, leaves):
        try:
            await asyncio.wait_for(self.once(ask, attempt, door), leaves or PATIENCE)
        except asyncio.TimeoutError:
            attempt.outcome = LEFT if leaves else SILENT
            self.drop()
        except NotListening as error:
            attempt.outcome, attempt.note = UNTAKEN, f'not connected: {error}'
        except (ValueError, IndexError, asyncio.LimitOverrunError) as error:
            attempt.outcome, attempt.note = ABORTED, f'no HTTP: {error!r}'
            self.drop()

    async def once(self, ask, attempt, door):
        if self.revision.spec.protocol == 'h2c':
            connection = await self.traffic.h2_connection(self.revision, door)
            await h2_client.exchange(connection, ask, attempt, door)
        elif attempt.kind == 'websocket':
            await self.talk(ask, attempt, door)
        else:
            await self.exchange(ask, attempt, door)

    async def talk(self, ask, attempt, door):
        connection = await h1_client.Connection.open(door.address)
        try:
            await h1_client.converse(connection, ask, attempt, door, self.choice.randint(1, 8),
                                     self.choice.uniform(0.01, 0.4))
        finally:
            connection.close()

    async def exchange(self, ask, attempt, door):
        alone = attempt.kind == 'get-alone'
        if alone:
            ask.headers.append(('Connection', 'close'))
        if alone or self.door is not door or self.connection is None or not self.connection.usable:
            self.drop()
            self.door = door
            self.connection = await h1_client.Connection.open(door.address)
        if not await h1_client.exchange(self.connection, ask, attempt, door) or alone:
            self.drop()


class Traffic:
    """All clients, and all that they have seen."""

    def __init__(self, site, clients):
        self.site = site
        self.clients = clients  # of one revision at most
        self.attempts = []
        self.requests = itertools.count()
        self.stopping = False
        self.h2 = {}            # by revision and door

    def now(self):
        return self.site.now()

    def door(self, choice, number):
        """Any door at first; who was turned away tries the other."""
        doors = self.site.doors
        first = choice.randrange(len(doors)) if number == 0 else number
        return doors[first % len(doors)]

    async def h2_connection(self, revision, door):
        key = (revision.name, door.name)
        connection = self.h2.get(key)
        if connection is None or not connection.usable:
            made = await h2_client.H2Connection.open(door.address)
            connection = self.h2.get(key)
            if connection is not None and connection.usable:  # another client was faster
                made.close()
                return connection
            self.h2[key] = connection = made
        return connection

    async def play(self, revision):
        """Bursts and silences until it is stopped."""
        choice = revision.choice
        await asyncio.sleep(choice.uniform(0, 3))
        while not self.stopping:
            until = self.now() + choice.uniform(2, 7)
            crowd = [Client(self, revision, choice) for _ in range(choice.randint(1, self.clients))]
            await asyncio.gather(*(client.work(until) for client in crowd))
            silence = choice.uniform(1, 4) if choice.random() < SHORT_SILENCE else \
                choice.uniform(8, 14)
            over = self.now() + silence
            while self.now() < over and not self.stopping:
                await asyncio.sleep(0.2)

    def close(self):
        for connection in self.h2.values():
            connection.close()
