"""How long our part of an activation takes, through real pods and seen from outside.

    asked    the client has written the first request                    its own clock
    scaled   the API tells that the Deployment's replicas were written   a watch, so the API's time is in it
    listens  the app listens                                             its own log, whole milliseconds
    byte     the first byte of the answer is there                       the client's clock

Ours is (scaled - asked) + (byte - listens): what lies between is Kubernetes and the app. All clocks are
this machine's. Both parts are measured slightly too long: by a watch, by the app's own answer.
"""

import dataclasses
import re
import statistics
import threading
import time

from wire import connect, eventually, request_bytes

WAKE_SECONDS = 60
SLEEP_SECONDS = 120


@dataclasses.dataclass
class Activation:
    """In milliseconds."""

    to_scaled: float
    to_first_byte: float
    whole: float
    phases: dict  # of an activator that tells them in Server-Timing

    @property
    def ours(self):
        return self.to_scaled + self.to_first_byte


class Replicas(threading.Thread):
    """When the API told of which number of replicas, of the Deployments of a place."""

    def __init__(self, api, place, seconds):
        super().__init__(daemon=True)
        self.told = {}  # name -> [(replicas, time.time())]
        self.watch = api.watch(place.path('deployments'), seconds)
        self.start()

    def run(self):
        try:
            for event in self.watch:
                now = time.time()
                made = event['object']
                self.told.setdefault(made['metadata']['name'], []).append((made['spec']['replicas'], now))
        except TimeoutError:
            pass  # it is no longer awaited

    def risen(self, name, since):
        """When it was first told above zero after `since`; None: not yet."""
        return next((at for count, at in self.told.get(name, ()) if count > 0 and at >= since), None)


def listened(lab, place, name, since):
    """When the app of the pod that was started after `since` listened; None: it does not say so yet."""
    for pod in place.pods(name):
        said = lab.kubectl('-n', place.name, 'logs', pod['metadata']['name'], '-c', 'app', check=False).stdout
        for words in map(str.split, said.splitlines()):
            if words[0] == 'listening' and int(words[1]) / 1000 >= since:
                return int(words[1]) / 1000
    return None


def activate(lab, place, replicas, name, address):
    """One activation of a service that sleeps."""
    with connect(address, WAKE_SECONDS) as sock:
        asked = time.time()
        sock.sendall(request_bytes('GET', '/', name, [('Connection', 'close')]))
        head = sock.recv(12)
        byte = time.time()
        while b'\r\n\r\n' not in head and (part := sock.recv(4096)):
            head += part
        if not head.startswith(b'HTTP/1.1 200'):
            raise AssertionError(f'{name} was answered {head}')
    scaled = eventually(lambda: replicas.risen(name, asked), f'the API has told that {name} was scaled')
    listens = eventually(lambda: listened(lab, place, name, asked), f'the app of {name} says that it listens')
    phases = {phase: float(ms) for phase, ms in re.findall(r'(\w+);dur=([0-9.]+)', head.decode('latin-1'))}
    return Activation(*(1000 * span for span in (scaled - asked, byte - listens, byte - asked)), phases)


def measure(case, names, rounds):
    """`rounds` activations of each service of an InstalledCase, one after the other; all must sleep before."""
    replicas = Replicas(case.api, case.place, rounds * (SLEEP_SECONDS + len(names) * WAKE_SECONDS))
    addresses = {name: case.address(name) for name in names}
    seen = []
    for _ in range(rounds):
        for name in names:
            case.asleep(name, SLEEP_SECONDS)
            seen.append(activate(case.lab, case.place, replicas, name, addresses[name]))
    return seen


def printed(seen):
    """The figures as a person reads them."""
    def row(what, values):
        values = sorted(values)
        return (f'  {what:<34} median {statistics.median(values):7.1f}   least {values[0]:7.1f}'
                f'   most {values[-1]:7.1f} ms')

    return '\n'.join((
        f'{len(seen)} activations through real pods',
        row('request to replicas written', [one.to_scaled for one in seen]),
        row('app listens to first byte', [one.to_first_byte for one in seen]),
        row('our part, both', [one.ours for one in seen]),
        row('whole, request to first byte', [one.whole for one in seen]),
        *(row(f'  the activator\'s {phase}', [one.phases.get(phase, 0.0) for one in seen])
          for phase in seen[0].phases)))


def median_ours(seen):
    return statistics.median(one.ours for one in seen)
