"""What the activator is measured by: its cost, its cold starts, what it holds and what it forgets."""

import statistics
import threading
import time

from activator_link import link
from activator_stage import Pod, answered
from meters import Shape, cpu_seconds, fetch, rss_kib, wrk
from peers import GREETING, OURS, BenchError, working_process
from scenarios import interleaved, progress
from table import Row

PAIR = 'nginx'   # the column of nginx in front of nginx
WAKES = 50
HELD_AT_ONCE = 1000
RELEASED = 10_000
HELD = 50_000
HELD_H1 = 10_000
STREAMS = 250
GROUP = 500      # requests whose order among each other says nothing
KNOWN, ACTIVE = 100_000, 100
KIB = 1 << 10


class Chain:
    """Two proxies in a row, the first of which is asked."""

    def __init__(self, name, front, behind):
        self.name = name
        self.port = front.port
        status, body = fetch(self.port, '/', '127.0.0.1')
        if (status, body) != (200, GREETING):
            raise BenchError(f'{name}: GET / gave {status} {body[:60]!r}')
        # Each has answered, so its worker is there.
        self.pids = [working_process(peer.process.pid) for peer in (front, behind)]

    def cpu_us(self, seconds, folder):
        before = sum(cpu_seconds(pid) for pid in self.pids)
        requests = wrk(self, Shape(connections=64), seconds, folder)
        return (sum(cpu_seconds(pid) for pid in self.pids) - before) / requests * 1e6


def cost(stage, options):
    backend = stage.backend()
    sidecar = stage.sidecar('sidecar', backend.port)
    stage.revision(pods=[Pod('pod-1', sidecar.port)], host='127.0.0.1')
    activator = stage.activator()
    behind = stage.proxy('nginx', backend)
    front = stage.nginx_proxy('nginx-front', behind)
    chains = [Chain(OURS, activator, sidecar), Chain(PAIR, front, behind)]
    for chain in chains:
        chain.cpu_us(1, stage.folder)
    figures = interleaved(chains, options.rounds,
                          lambda chain: chain.cpu_us(options.seconds, stage.folder))
    for name, rounds in figures.items():
        progress(f'  {name:<18} {statistics.median(rounds):7.1f} us of CPU')
    return [Row('cost', 'CPU per request of two proxies in a row, 64 connections', 'us CPU', figures,
                1.1, PAIR)]


def one_wake(stage, number, apps, port, clients):
    """(ready to first request in ms, rate of the others) of a pod that becomes ready for 1,000."""
    apps.order('shut')
    apps.order('report', 1)
    sidecar = stage.sidecar(f'sidecar-{number}', port, probe=True)
    clients.order('h1', HELD_AT_ONCE, 0)
    stage.until_waiting(HELD_AT_ONCE)
    stage.revision(pods=[Pod(f'pod-{number}', sidecar.port)])
    # Somewhere within the sidecar's and the activator's own rhythms.
    threading.Event().wait(0.2 + number % 10 * 0.013)
    apps.order('open')
    outcome = clients.order('await')
    if answered(outcome, HELD_AT_ONCE):
        raise BenchError(f'wake {number}: not every held request got its answer: {outcome}')
    seen = apps.order('report', 1)
    rate = HELD_AT_ONCE / ((outcome['last_ns'] - outcome['first_ns']) / 1e9)
    warm = None
    if number % 10 == 9:
        warmed = clients.order('warm', 1000)
        warm = warmed['answers'] / (warmed['ns'] / 1e9)
        clients.order('await')
    stage.revision(pods=[])
    stage.stop(sidecar)
    return (seen['first_ns'] - seen['ready_ns']) / 1e6, rate, warm


def wake(stage, options):
    stage.revision()
    activator = stage.activator()
    apps, [port] = stage.apps(1)
    clients = stage.clients(activator)
    wakes = [one_wake(stage, number, apps, port, clients) for number in range(options.wakes)]
    warm = [rate for *_, rate in wakes if rate] or [0]
    first = [delay for delay, *_ in wakes]
    progress(f'  ready to first {statistics.median(first):.2f} ms, most {max(first):.2f} ms')
    rows = [Row('wake', f'sidecar ready to the first of {HELD_AT_ONCE} held requests', 'ms',
                {OURS: first}, 2.0, strict=True)]
    if warm != [0]:
        shares = [rate / statistics.median(warm) for _, rate, _ in wakes]
        rows.append(Row('wake', '  the others: warm throughput / theirs', 'x',
                        {OURS: [1 / share for share in shares]}, 1.25))
    return rows


def pods_of(stage, ports, concurrency):
    return [Pod(f'pod-{number}', stage.sidecar(f'sidecar-{number}', port, concurrency).port)
            for number, port in enumerate(ports)]


def release(stage, options):
    """10,000 held requests let go onto 10 pods that take 100 each."""
    more = {'container_concurrency': 100}
    stage.revision(**more)
    activator = stage.activator()
    apps, ports = stage.apps(10)
    apps.order('delay', 2000)
    pods = pods_of(stage, ports, 100)
    clients = stage.clients(activator)
    shares, most, memory, warm_rates = [], [], [], []
    for number in range(options.rounds):
        clients.order('h1', RELEASED, 0)
        stage.until_waiting(RELEASED)
        apps.order('report', 1)
        stage.revision(pods=pods, **more)
        outcome = clients.order('await')
        if answered(outcome, RELEASED):
            raise BenchError(f'release: not every held request got its answer: {outcome}')
        rate = RELEASED / ((outcome['last_ns'] - outcome['first_ns']) / 1e9)
        warmed = clients.order('warm', options.seconds * 2000)
        warm_rates.append(warmed['answers'] / (warmed['ns'] / 1e9))
        clients.order('await')
        most.append(max(apps.order('report', 1)['most']))
        shares.append(warm_rates[-1] / rate)
        memory.append(rss_kib(activator.pid) / KIB)
        stage.revision(**more)
        progress(f'  round {number + 1}: released at {rate:.0f}/s, warm {warm_rates[-1]:.0f}/s')
    return [Row('release', f'{RELEASED} held onto 10 pods of 100: most at once in a pod', 'requests',
                {OURS: most}, 100),
            Row('release', '  warm throughput / throughput of the release', 'x', {OURS: shares}, 1.25),
            Row('release', '  memory of the activator', 'MiB', {OURS: memory}, 512)]


def hold_all(stage, clients):
    """50,000 requests that wait, in groups that came one after the other."""
    number = 0
    while number < HELD_H1:
        clients.order('h1', GROUP, number)
        number += GROUP
        stage.until_waiting(number)
    while number < HELD:
        for _ in range(GROUP // STREAMS):
            clients.order('h2', STREAMS, number)
            number += STREAMS
        stage.until_waiting(number)


def held(stage, _options):
    """50,000 requests of one revision wait for one pod that takes one at a time."""
    more = {'container_concurrency': 1}
    stage.revision(**more)
    # One revision may take three quarters of the places, and they seven eighths of the connections.
    activator = stage.activator(SLUICE_QUEUE_DEPTH=str(HELD), SLUICE_QUEUE_TOTAL=str(2 * HELD),
                                SLUICE_MAX_CONNECTIONS=str(4 * HELD))
    apps, ports = stage.apps(1)
    pods = pods_of(stage, ports, 1)
    clients = stage.clients(activator)
    empty = rss_kib(activator.pid)
    hold_all(stage, clients)
    full = rss_kib(activator.pid)
    progress(f'  {HELD} held in {full / KIB:.0f} MiB, {(full - empty) * KIB / HELD:.0f} B each')
    apps.order('report', 1)
    stage.revision(pods=pods, **more)
    outcome = clients.order('await')
    seen = apps.order('report', GROUP)
    return [Row('held', f'{HELD} held requests: memory of the activator', 'MiB', {OURS: [full / KIB]}, 512),
            Row('held', '  each of them', 'B', {OURS: [(full - empty) * KIB / HELD]}, 10 * KIB),
            Row('held', '  lost', 'requests', {OURS: [answered(outcome, HELD)]}, 0),
            Row('held', '  run more than once', 'requests', {OURS: [seen['requests'] - HELD]}, 0),
            Row('held', f'  overtaken by a later group of {GROUP}', 'requests', {OURS: [seen['late']]}, 0)]


def idle(stage, _options):
    """The cost of a revision without requests, among some with requests."""
    apps, [port] = stage.apps(1)
    apps.order('open')
    sidecar = stage.sidecar('sidecar', port)
    pod = Pod('pod-1', sidecar.port)
    memory = []
    for known in (ACTIVE, KNOWN):
        for number in range(known):
            stage.revision(f'app-{number:06}', [pod] if number < ACTIVE else [], f'{number}.example')
        activator = stage.activator()
        for number in range(ACTIVE):
            ask_until_known(activator, f'{number}.example')
        ask_until_known(activator, f'{known - 1}.example', expect_held=known > ACTIVE)
        memory.append(rss_kib(activator.pid))
        stage.stop(activator)
    each = (memory[1] - memory[0]) * KIB / (KNOWN - ACTIVE)
    progress(f'  {memory[0]} KiB with {ACTIVE}, {memory[1]} KiB with {KNOWN}')
    return [Row('idle', f'an idle revision among {KNOWN}, {ACTIVE} of them active', 'B',
                {OURS: [each]}, 2 * KIB)]


def ask_until_known(activator, host, expect_held=False):
    """Asks until the revision is known; one without pods holds the request, which is known, too."""
    until = time.monotonic() + 120
    tick = threading.Event()
    while time.monotonic() < until:
        try:
            status, _ = fetch(activator.port, '/', host, timeout=0.5 if expect_held else 10)
        except BenchError:
            if expect_held:
                return
            raise
        if status == 200:
            return
        tick.wait(0.1)
    raise BenchError(f'{host} is not known after two minutes')


ACTIVATOR = {'cost': cost, 'wake': wake, 'release': release, 'held': held, 'idle': idle,
             'link': link}
