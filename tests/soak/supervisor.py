"""The service manager of protocols.md 9: writes the revisions and the activators, reads the scale, and starts and
stops pods accordingly."""

import asyncio
import collections
import dataclasses
import json
import os
import random
import time

from pods import Pod
from lateness import Lateness
from platform_directory import replace
from processes import Child, FolderWatch
from records import Incident

NAMESPACE = 'default'
DRAIN_QUIET = '500ms'
ACTIVATOR_END_SECONDS = 60
AUTOSCALER_END_SECONDS = 10
# Surplus pods are named within two intervals of the autoscaler and rule 5's seconds; this is ample.
SURPLUS_SECONDS = 60
SLOW_POD = 0.1          # of the pods
SLOW_SECONDS = (0.3, 3.0)
CLUSTER = {'stable-window': '6s', 'scale-to-zero-grace-period': '1s', 'initial-scale': '0',
           'allow-zero-initial-scale': 'true', 'max-scale-down-rate': '4'}
PROBLEMS_MAX = 1000
PREFIX = 'autoscaling.knative.dev/'


@dataclasses.dataclass
class Spec:
    """What a revision is."""

    protocol: str           # http1 or h2c
    concurrency: int        # containerConcurrency
    unix_sockets: bool
    timeout: int
    probe: dict
    annotations: dict


def make_spec(choice, number):
    """A seeded revision; neighbours differ in protocol and limit."""
    concurrency = (1, 2, 4, 0, 10)[number % 5]
    annotations = {PREFIX + 'window': '6s', PREFIX + 'max-scale': str(choice.randint(3, 6)),
                   PREFIX + 'panic-window-percentage': '20'}
    if concurrency in (0, 10):
        annotations[PREFIX + 'target'] = '2'
    if choice.random() < 0.2:
        annotations[PREFIX + 'activation-scale'] = '2'
    probe = {} if choice.random() < 0.5 else {'periodSeconds': 1, 'timeoutSeconds': 1}
    protocol = 'h2c' if number // 5 % 2 else 'http1'
    return Spec(protocol, concurrency, number // 10 % 2 == 0, 40, probe, annotations)


class Revision:
    """One revision, its pods, and the scale that is asked of it."""

    def __init__(self, name, spec, site, choice):
        self.name = name
        self.spec = spec
        self.site = site
        self.choice = choice
        self.hosts = [f'{name}.soak.example']
        self.pods = {}
        self.replicas = 0
        self.remove = []
        self.made = 0
        self.surplus_since = None
        self.tasks = set()

    @property
    def file_name(self):
        return f'{NAMESPACE}.{self.name}.json'

    def publish(self):
        replace(self.site.revisions / self.file_name, {
            'namespace': NAMESPACE, 'name': self.name, 'service': self.name, 'hosts': self.hosts,
            'protocol': self.spec.protocol, 'container_concurrency': self.spec.concurrency,
            'timeout_seconds': self.spec.timeout, 'annotations': self.spec.annotations,
            'pods': [pod.entry() for pod in self.pods.values()]})

    def changed(self):
        """A pod is not what it was."""
        gone = [name for name, pod in self.pods.items() if pod.gone]
        for name in gone:
            del self.pods[name]
        self.publish()
        if gone:
            self.reconcile()

    def scale(self, told):
        """A scale file: what should run, and who may be stopped."""
        if told['replicas'] != self.replicas:
            self.site.count_event(self.replicas, told['replicas'])
        self.replicas, self.remove = told['replicas'], told['remove']
        self.reconcile()

    def living(self):
        return [pod for pod in self.pods.values() if not (pod.terminating or pod.killed)]

    def reconcile(self):
        if self.site.closing:
            return
        living = self.living()
        for _ in range(self.replicas - len(living)):
            self.start_pod()
        surplus = len(living) - self.replicas
        for name in self.remove:
            pod = self.pods.get(name)
            if surplus > 0 and pod in living:
                surplus -= 1
                self.site.pods_stopped += 1
                self.spawn(pod.stop())
        self.surplus_since = None if surplus <= 0 else self.surplus_since or self.site.now()

    def start_pod(self):
        self.made += 1
        slow = self.choice.random() < SLOW_POD
        pod = Pod(f'{self.name}-{self.made}', self, self.site, self.changed)
        self.pods[pod.name] = pod
        self.site.pods_started += 1
        if slow:
            self.site.faults['slow to start'] += 1
        self.spawn(pod.live(self.choice.uniform(*SLOW_SECONDS) if slow else 0))
        self.publish()

    def spawn(self, work):
        self.site.spawn(work, self.tasks)

    def look_for_surplus(self):
        if self.surplus_since and self.site.now() - self.surplus_since > SURPLUS_SECONDS:
            self.site.problem(f'{self.name}: {len(self.living())} pods for {self.replicas} '
                              f'replicas, and for {SURPLUS_SECONDS} s nobody may be stopped')
            self.surplus_since = float('inf')


class Door:
    """One life of an activator: a name of its own, an address, and whether it is going."""

    def __init__(self, name, child, addresses, lateness):
        self.name = name
        self.lateness = lateness    # of the loop of its clients
        self.child = child
        self.address = addresses['serving']
        self.closing = False


class Site:
    """The folders, the programs and what happened to them."""

    def __init__(self, programs, app, folder, seed, revisions):
        self.queue_proxy = str(programs / 'queue-proxy')
        self.programs = programs
        self.app = str(app)
        self.folder = folder
        self.seed = seed
        self.path = folder / 'platform'
        self.revisions = self.path / 'revisions'
        self.scales = self.path / 'scale'
        self.sockets = folder / 's'
        for made in (self.revisions, self.scales, self.sockets):
            made.mkdir(parents=True)
        self.journal = folder / 'journal'
        self.journal.touch()
        self.pod_log = open(folder / 'pods.log', 'ab')
        self.doors = [None, None]
        self.lives = 0
        self.autoscaler = None
        self.watch = None
        self.lateness = None
        self.incidents = []
        self.problems = []
        self.events = collections.Counter()
        self.faults = collections.Counter()
        self.pods_started = self.pods_stopped = 0
        self.closing = False
        self.tasks = set()
        self.by_name = {}
        for number in range(revisions):
            name = f'r{number}'
            choice = random.Random(f'{seed}/{name}')
            self.by_name[name] = Revision(name, make_spec(choice, number), self, choice)

    @staticmethod
    def now():
        return time.monotonic()  # the clock of the loop and of the journal

    def problem(self, what):
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append(f'{what} (at {self.now():.3f})')
            print(f'  PROBLEM: {self.problems[-1]}', flush=True)

    def spawn(self, work, tasks=None):
        """Runs `work`; what it raises is a problem of the run."""
        kept = self.tasks if tasks is None else tasks
        task = asyncio.get_running_loop().create_task(work)
        kept.add(task)

        def over(done):
            kept.discard(done)
            if not done.cancelled() and done.exception():
                self.problem(f'the driver failed: {done.exception()!r}')
        task.add_done_callback(over)
        return task

    def count_event(self, before, after):
        kind = '0 to 1' if before == 0 and after == 1 else '0 to N' if before == 0 else \
            'to 0' if after == 0 else 'up' if after > before else 'down'
        self.events[kind] += 1

    @property
    def event_count(self):
        return sum(self.events.values())

    async def open(self):
        """Everything runs when it returns."""
        replace(self.path / 'config-autoscaler.json', CLUSTER)
        replace(self.path / 'activators.json', [])
        for revision in self.by_name.values():
            revision.publish()
        self.lateness = Lateness()
        self.spawn(self.lateness.watch())
        self.watch = FolderWatch(self.scales, self.read_scale)
        await self.start_autoscaler()
        for slot in range(len(self.doors)):
            await self.start_activator(slot)

    def read_scale(self, name):
        if name.startswith('.') or not name.endswith('.json'):
            return
        try:
            told = json.loads((self.scales / name).read_text(encoding='utf-8'))
            revision = self.by_name[name.removeprefix(f'{NAMESPACE}.').removesuffix('.json')]
            revision.scale(told)
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError) as error:
            self.problem(f'scale/{name} is no scale file: {error!r}')

    def environment(self, name):
        return {**os.environ, 'SLUICE_PLATFORM': f'dir:{self.path}', 'POD_NAME': name,
                'POD_IP': '127.0.0.1', 'SYSTEM_NAMESPACE': 'sluice-system',
                'CLUSTER_DOMAIN': 'cluster.local',
                'SLUICE_METRICS_ADDRESS': '127.0.0.1:0', 'SLUICE_DRAIN_QUIET': DRAIN_QUIET}

    @property
    def stream_address(self):
        return f'unix:{self.sockets}/autoscaler'

    async def start_autoscaler(self):
        environment = {**self.environment('autoscaler-0'), 'SLUICE_STATS_ADDRESS': '127.0.0.1:0',
                       'SLUICE_GRPC_ADDRESS': self.stream_address,
                       'SLUICE_API_ADDRESS': '127.0.0.1:0'}
        with open(self.folder / 'autoscaler.log', 'ab') as log:
            child = Child([str(self.programs / 'autoscaler')], environment, log)
        self.autoscaler = child
        child.ended.add_done_callback(lambda ended: self.ended_by_itself(
            'the autoscaler', ended, child is self.autoscaler and not self.closing))
        await child.addresses()

    def ended_by_itself(self, who, ended, unexpected):
        if unexpected:
            self.problem(f'{who} ended by itself, status {ended.result()}')

    async def start_activator(self, slot):
        self.lives += 1
        name = f'activator-{slot}.{self.lives}'
        environment = {**self.environment(name), 'SLUICE_HTTP_ADDRESS': '127.0.0.1:0',
                       'SLUICE_H2C_ADDRESS': '127.0.0.1:0', 'SLUICE_TLS_ADDRESS': '',
                       'SLUICE_AUTOSCALER_ADDRESS': self.stream_address}
        with open(self.folder / f'{name}.log', 'ab') as log:
            child = Child([str(self.programs / 'activator')], environment, log)
        door = Door(name, child, await child.addresses(), self.lateness)
        child.ended.add_done_callback(lambda ended: self.ended_by_itself(
            name, ended, not (door.closing or self.closing)))
        self.doors[slot] = door
        self.write_activators()

    def write_activators(self):
        replace(self.path / 'activators.json',
                [door.address for door in self.doors if door and not door.closing])

    async def restart_activator(self, slot):
        """SIGTERM, its whole drain, and a new one in its place at an address of its own."""
        door = self.doors[slot]
        incident = Incident('activator-drained', door.name, '', self.now(), float('inf'))
        self.incidents.append(incident)
        door.closing = True
        self.write_activators()
        door.child.terminate()
        if not await door.child.end(ACTIVATOR_END_SECONDS):
            self.problem(f'{door.name}: its drain did not end within {ACTIVATOR_END_SECONDS} s')
            door.child.kill()
        elif door.child.ended.result() != 0:
            self.problem(f'{door.name}: its drain ended with status {door.child.ended.result()}')
        await self.start_activator(slot)
        incident.ended = self.now()

    async def restart_autoscaler(self, pause):
        """SIGKILL, and a new one after `pause`."""
        killed, self.autoscaler = self.autoscaler, None
        killed.kill()
        await killed.end(AUTOSCALER_END_SECONDS)
        await asyncio.sleep(pause)
        await self.start_autoscaler()

    async def watch_surplus(self):
        while not self.closing:
            for revision in self.by_name.values():
                revision.look_for_surplus()
            await asyncio.sleep(1)

    def children(self):
        pods = [pod for revision in self.by_name.values() for pod in revision.pods.values()]
        found = [child for pod in pods for child in (pod.sidecar, pod.app)]
        found += [door.child for door in self.doors if door] + [self.autoscaler]
        return [child for child in found if child is not None and child.running]

    async def close(self):
        """Ends everything; the orderly ways were shown before."""
        self.closing = True
        for revision in self.by_name.values():
            for pod in revision.pods.values():
                pod.killed = True
        ending = self.children()
        for child in ending:
            child.kill()
        for child in ending:
            await child.end(AUTOSCALER_END_SECONDS)
        if self.watch:
            self.watch.close()
        self.pod_log.close()
