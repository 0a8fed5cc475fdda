"""Requests under scale events and faults, with everything real: is any of them lost?

A scale event is a change of a Deployment's `spec.replicas`, counted by a watch. The services have short
windows (6 s), so bursts and silences of a few seconds make events by the second. Pods are killed without
a word, one of the two activators is restarted, the autoscaler is killed. As tests/soak counts, each
request is answered, or broken by a kill that met it, or lost; none may be lost.
"""

import itertools
import random
import threading
import time

from lab import node
from lab.crowd import Crowd, account, printed
from lab.installed import InstalledCase
from lab.objects import gone, is_ready

SERVICES = [f'svc{number}' for number in range(10)]
EVENTS = 200
SECONDS_MAX = 540
FAULT_SECONDS = 7
GRACE = 12
SEED = 8
ANSWERED_LEAST = 0.95


class ScaleEvents(threading.Thread):
    """Counts them, for as long as the watch lasts."""

    def __init__(self, api, place):
        super().__init__(daemon=True)
        self.replicas, self.count = {}, 0
        self.watch = api.watch(place.path('deployments'), SECONDS_MAX + 120)
        self.start()

    def run(self):
        try:
            for event in self.watch:
                name, now = event['object']['metadata']['name'], event['object']['spec']['replicas']
                self.count += self.replicas.get(name, now) != now
                self.replicas[name] = now
        except TimeoutError:
            pass  # it is no longer awaited


class LostRequests(InstalledCase):
    VALUES = {'activator': {'replicas': 2, 'drainQuiet': '10s'}}

    def setUp(self):
        super().setUp()
        self.kills = []    # (service or None, when): what may break a request
        self.choice = random.Random(SEED)
        self.done = dict.fromkeys(('pod', 'activator', 'autoscaler'), 0)

    def test_none_is_lost_in_200_scale_events_with_kills_and_restarts(self):
        for name in SERVICES:
            self.workload(name, env={'NAME': name}, terminationGracePeriodSeconds=GRACE)
            self.scale(name, {'target': 1, 'max': 3})
        for name in SERVICES:
            self.wait_routed(name)
        events = ScaleEvents(self.api, self.place)
        crowd = Crowd({name: self.address(name) for name in SERVICES}, SEED)
        try:
            took = self.until_seen(events)
        finally:
            crowd.stop()
        sent = crowd.sent
        print(f'\n{events.count} scale events in {took:.0f} s; faults: {self.done}\n{printed(sent, self.kills)}')
        for name in SERVICES:
            self.asleep(name)

        self.assertGreaterEqual(events.count, EVENTS)
        self.assertTrue(all(self.done.values()), self.done)
        self.assertEqual(account(sent, self.kills)[0], [])
        self.assertGreaterEqual(sum(one.answered for one in sent), ANSWERED_LEAST * len(sent))

    def until_seen(self, events):
        """Faults in turn until there were events enough; how long it took."""
        began = time.monotonic()
        # The autoscaler seldom: for the length of a lease after each time there are no events.
        faults = itertools.cycle((self.kill_pod, self.restart_activator, self.kill_pod, self.kill_autoscaler,
                                  self.kill_pod, self.restart_activator, self.kill_pod, self.restart_activator))
        pause = threading.Event()
        next_fault = began + 2 * FAULT_SECONDS
        while time.monotonic() - began < SECONDS_MAX:
            if events.count >= EVENTS and all(self.done.values()):
                break
            pause.wait(0.2)
            if time.monotonic() >= next_fault:
                next(faults)()
                next_fault = time.monotonic() + FAULT_SECONDS
        return time.monotonic() - began

    def kill_pod(self):
        """At once, with all that it was answering."""
        ready = [pod for pod in self.place.pods() if is_ready(pod) and not gone(pod)]
        if not ready:
            return
        pod = self.choice.choice(ready)
        service, path = pod['metadata']['labels']['app'], self.place.path('pods', pod['metadata']['name'])
        self.kills.append((service, time.monotonic()))
        node.kill_pod(pod['metadata']['uid'])
        self.api.ask('DELETE', path, {'gracePeriodSeconds': 0})  # it may be gone by itself
        self.kills.append((service, time.monotonic()))  # what comes next may take long on a busy machine
        self.done['pod'] += 1

    def kill_autoscaler(self):
        self.chart.kill(self.chart.pods('autoscaler')[0])
        self.done['autoscaler'] += 1

    def restart_activator(self):
        """In order: it gets SIGTERM, and another one starts. Never both at once."""
        pods = self.chart.pods('activator')
        if len(pods) == 2 and all(is_ready(pod) for pod in pods):
            self.api.delete(f'/api/v1/namespaces/{pods[0]["metadata"]["namespace"]}/pods/{pods[0]["metadata"]["name"]}')
            self.done['activator'] += 1
