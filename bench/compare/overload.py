"""What clients that take all they can cost: memory of the engine and of the activator, and a neighbour's first requests.

python3 bench/compare/overload.py --bin build/release/bin [--connections 1500] [--head 1000000]
"""

import argparse
import threading
import time

from engines import ROOT, load_tests

MIB = 1 << 20
BUDGET = 512 * MIB
RETURN_SECONDS = 60
FIRST_REQUESTS = 20


class EngineStage:
    """`sluice up` with two services: one never listens, the other answers."""

    def __init__(self):
        from engine import Engine, Home
        from test_overload import CONFIG, SERVICES
        self.home = Home()
        services = self.home.path / 'services.yaml'
        services.write_text(SERVICES)
        config = self.home.path / 'config.yaml'
        config.write_text(CONFIG.replace('64Mi', '512Mi'))
        self.program = Engine(self.home, '-f', str(services), '--config', str(config))
        self.address = self.program.http
        self.pid = self.program.pid
        self.neighbour = [('Host', 'neighbour.localhost')]

    def first(self, _number):
        from wire import fetch
        return fetch(self.address, host='victim.localhost', timeout=60).status

    def close(self):
        self.program.kill()
        self.home.close()


class ActivatorStage:
    """An activator before a revision without pods, and others that get a pod after their first request."""

    def __init__(self):
        from activator.case import Activator, Platform, sidecar_play
        from activator.test_overload import named
        from sidecar import Upstream
        self.platform = Platform()
        self.pod = Upstream(sidecar_play())
        self.platform.revision('neighbour', pods=[])
        self.program = Activator(self.platform, SLUICE_QUEUE_BYTES=str(BUDGET), SLUICE_MAX_HEADER_BYTES=str(MIB))
        self.address = self.program.serving
        self.pid = self.program.pid
        self.neighbour = named('neighbour')

    def first(self, number):
        name = f'victim-{number}'
        self.platform.revision(name, pods=[])
        timer = threading.Timer(
            0.2, lambda: self.platform.pods_of([('v', f'127.0.0.1:{self.pod.port}')], name))
        timer.start()
        from wire import eventually
        answer = eventually(lambda: self.known(name), f'{name} is known')
        timer.join()
        return answer.status

    def known(self, name):
        answer = self.program.get(revision=name)
        return None if answer.headers.get('sluice-error', '').startswith('no-route') else answer

    def close(self):
        self.program.close()
        self.pod.listening.stop()
        self.platform.close()


def measure(name, stage, options):
    from flood import Flood, head, resident
    from wire import eventually
    idle = resident(stage.pid)
    for ended in (True, False):
        flood = Flood(stage.address)
        data = head('/', stage.neighbour, options.head, ended)
        for _ in range(options.connections):
            flood.add(data)
        # What the budget cannot hold is turned away: a part of each head is still in the kernel before.
        most = BUDGET / options.head if ended else BUDGET / 8 / options.head
        flood.run(lambda: flood.turned_away() > options.connections - most, seconds=300)
        begin = 0 if ended else FIRST_REQUESTS
        refused = sum(stage.first(begin + number) != 200 for number in range(FIRST_REQUESTS))
        peak = resident(stage.pid, peak=True)
        flood.close()
        begun = time.monotonic()
        eventually(lambda: resident(stage.pid) < idle + 64 * MIB, 'memory is given back', RETURN_SECONDS)
        took = time.monotonic() - begun
        print(f'{name}, {"whole" if ended else "unfinished"} heads: idle {idle / MIB:.0f} MiB, peak {peak / MIB:.0f}, '
              f'{flood.turned_away()} turned away; after {took:.1f} s {resident(stage.pid) / MIB:.0f} MiB; '
              f'victim: {refused} of {FIRST_REQUESTS} refused', flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--bin', default=str(ROOT / 'build' / 'release' / 'bin'))
    parser.add_argument('--connections', type=int, default=1500)
    parser.add_argument('--head', type=int, default=1_000_000)
    options = parser.parse_args()
    load_tests(options.bin)
    print(f'bars: peak {(1.2 * BUDGET) / MIB + 32:.0f} MiB, then idle + 64 MiB within {RETURN_SECONDS} s, 0 refused')
    for name, kind in (('activator', ActivatorStage), ('engine', EngineStage)):
        stage = kind()
        try:
            measure(name, stage, options)
        finally:
            stage.close()


if __name__ == '__main__':
    main()
