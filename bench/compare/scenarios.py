"""What a request costs and how long it takes: rounds in which every peer takes its turn."""

import statistics
import sys

from meters import Shape, check_proxies, cpu_round, fixed_rate_round, wrk
from peers import OURS, UNBUFFERED, Peer
from table import Row

WARM_UP_SECONDS = 1
SATURATING = Shape(connections=64)


def progress(text):
    print(text, file=sys.stderr, flush=True)


def interleaved(peers, rounds, measure):
    """{name: [figure of each round]}. The order rotates, so that no peer always follows the same one."""
    seen = {peer.name: [] for peer in peers}
    for number in range(rounds):
        turn = number % len(peers)
        for peer in peers[turn:] + peers[:turn]:
            seen[peer.name].append(measure(peer))
    return seen


def cpu_figures(stage, shape, options, peers):
    """CPU microseconds per request of each peer and round."""
    for peer in peers:
        cpu_round(peer, shape, WARM_UP_SECONDS, stage.folder)
    seen = interleaved(peers, options.rounds,
                       lambda peer: cpu_round(peer, shape, options.seconds, stage.folder))
    for name, rounds in seen.items():
        progress(f'  {name:<18} {statistics.median(one.cpu_us for one in rounds):7.1f} us of CPU '
                 f'{statistics.median(one.rate for one in rounds):8.0f}/s')
    return {name: [one.cpu_us for one in rounds] for name, rounds in seen.items()}


def started(stage, backend, protocol='h1', more=()):
    peers = [stage.proxy(name, backend, protocol) for name in (*stage.names(protocol), *more)]
    if protocol == 'h1':
        for peer in peers:
            check_proxies(peer)
    return peers


def http1(scenario, what, shape, bar, more=()):
    """A scenario of HTTP/1.1, held against nginx."""
    def measure(stage, options):
        backend = stage.backend()
        peers = started(stage, backend, more=more)
        figures = cpu_figures(stage, shape, options, peers)
        for peer in (*peers, backend):
            stage.stop(peer)
        return [Row(scenario, what, 'us CPU', figures, bar, 'nginx'),
                *(Row(scenario, f'  the same beside {name}', 'us CPU',
                      {one: figures[one] for one in (OURS, name)}, against=name) for name in more)]
    return measure


def h2c(stage, options):
    """One connection, 32 streams, HTTP/2 on both sides, held against the cheaper of the two."""
    shape = Shape(connections=1, streams=32)
    backend = stage.backend('h2c')
    peers = started(stage, backend, 'h2c')
    figures = cpu_figures(stage, shape, options, peers)
    for peer in (*peers, backend):
        stage.stop(peer)
    cheaper = min(('haproxy', 'nghttpx'), key=lambda name: statistics.median(figures[name]))
    return [Row('h2c', 'h2c GET, 1 connection x 32 streams', 'us CPU', figures, 1.0, cheaper)]


def half_of_saturation(stage, peers, options):
    """Half of what the slower of ours and nginx can do: a rate that both are asked for."""
    rates = interleaved(peers, 3, lambda peer: wrk(peer, SATURATING, 1, stage.folder))
    slowest = min(statistics.median(seen) for seen in rates.values())
    return options.rate or slowest / 2


def latency(stage, options):
    """What a proxy adds to the latency of the backend, asked directly in the same round."""
    backend = stage.backend()
    peers = started(stage, backend)
    pair = [peer for peer in peers if peer.name in (OURS, 'nginx')]
    rate = half_of_saturation(stage, pair, options)
    progress(f'  at {rate:.0f} requests/s')
    direct = Peer('no proxy', backend.port, backend.pid, backend.process, 0)
    seen = interleaved([*peers, direct], options.rounds,
                       lambda peer: fixed_rate_round(peer, rate, options.seconds, stage.folder))
    for peer in (*peers, backend):
        stage.stop(peer)
    for name, rounds in seen.items():
        progress(f'  {name:<18} p50 {statistics.median(one.p50_us for one in rounds):6.0f} us, p99 '
                 f'{statistics.median(one.p99_us for one in rounds):6.0f} us')
    base = seen.pop(direct.name)
    p50 = {name: [one.p50_us for one in rounds] for name, rounds in seen.items()}
    p99 = {name: [one.p99_us for one in rounds] for name, rounds in seen.items()}
    added = {name: [one.p50_us - without.p50_us for one, without in zip(rounds, base)]
             for name, rounds in seen.items()}
    # The ratio is of whole latencies: it is <= 1 where that of the added parts is, and needs no
    # division by a difference that noise may turn negative.
    return [Row('latency', f'p50 of GETs at {rate:.0f}/s', 'us', p50, 1.0, 'nginx'),
            Row('latency', '  of it added by the proxy', 'us', added),
            Row('latency', f'p99 of GETs at {rate:.0f}/s', 'us', p99, against='nginx')]


CPU_AND_LATENCY = {
    'get1': http1('get1', 'GET, 1 connection', Shape(connections=1), 1.1),
    'get64': http1('get64', 'GET, 64 connections', Shape(connections=64), 1.0),
    'post16k': http1('post16k', 'POST 16 KiB, 64 connections', Shape(connections=64, post=True), 1.0,
                     more=(UNBUFFERED,)),
    'get1m': http1('get1m', 'GET 1 MiB, 16 connections', Shape('/megabyte', connections=16), 1.0,
                   more=(UNBUFFERED,)),
    'h2c': h2c,
    'latency': latency,
}
