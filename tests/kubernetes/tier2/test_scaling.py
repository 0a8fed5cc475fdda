"""A workload that wakes, grows, shrinks and sleeps, with the controllers of a cluster and fake pods."""

from protowire import fields
from wire import eventually

from lab.scalers import condition
from scaling.case import ScalingCase

LONG = 90  # seconds: two windows, a grace period and controllers


class Life(ScalingCase):
    def begin(self, replicas=0, grace='6s', loads=(), **spec):
        """`loads`: of the first pods, before they are scraped; the others have none."""
        self.configure(**{'scale-to-zero-grace-period': grace})
        self.side = self.sidecars()
        self.workload('web', replicas)
        pods = self.wait_ready('web', replicas)
        self.side.load.update(zip((pod['status']['podIP'] for pod in pods), loads))
        self.scale('web', **spec)
        running = self.autoscaler()
        self.way = self.activator(running)
        self.port = self.wait_port('web')
        self.way.stand_for(self.port)

    def idle(self, met, what):
        """Until then the activator reports zero load, and sends nothing to the pods in `avoid`."""
        def said():
            self.way.hold('web', self.place.name)
            if self.way.stream.states.get('web', {}).get('avoid'):
                self.apply('web')
            return met()

        eventually(said, what, LONG)

    def busy(self, met, what):
        """Until then the activator says that there is a request: one report lasts one window."""
        eventually(lambda: self.way.hold('web', self.place.name, 1) and met(), what, LONG)

    def ips(self):
        return {pod['status']['podIP'] for pod in self.place.ready_pods('web')}

    def by_activator(self):
        return self.routed('web') == {(self.way.ip, self.port)}

    def straight(self):
        ips = self.ips()
        return ips and self.routed('web') == {(ip, 8012) for ip in ips}

    def test_it_wakes_serves_straight_and_sleeps_again(self):
        self.begin(grace='20s')
        self.idle(self.by_activator, 'the activator is in the way')

        self.busy(self.straight, 'the pods are asked straight')
        self.busy(lambda: condition(self.look('web'), 'Active', 'True Serving'), 'it says that it serves')

        self.idle(self.by_activator, 'the activator is in the way again')
        self.assertEqual(self.replicas('web'), 1)
        self.idle(lambda: self.replicas('web') == 0, 'it sleeps')
        self.wait_condition('web', 'Active', 'False NoTraffic')
        eventually(lambda: self.events('ScaledToZero'), 'the event')

    def test_the_last_pod_stays_while_no_activator_stands_for_it(self):
        self.begin(replicas=1)
        self.way.leave()
        pod = self.wait_ready('web', 1)[0]

        self.wait_routed('web', {(pod['status']['podIP'], 8012)})
        scrapes = self.side.scrapes
        self.idle(lambda: self.side.scrapes > scrapes + 25, 'it was idle for long')

        self.assertEqual(self.replicas('web'), 1)

    def test_the_idlest_pods_go_first(self):
        self.begin(replicas=4, loads=(0.1, 5.0, 0.1, 0.1),
                   autoscaling={'target': 10, 'targetUtilizationPercentage': 100})
        busy = max(self.side.load, key=self.side.load.get)

        self.idle(lambda: self.ips() == {busy}, 'the busy one is left')

    def apply(self, name):
        """Confirms the newest state: no request goes to the pods in `avoid`."""
        state = self.way.stream.states[name]
        self.way.stream.say(fields(f3=fields(f1=fields(f1=self.place.name, f2=name), f2=state['version'])))

    def test_it_grows_with_the_load(self):
        self.begin(replicas=1, loads=(8.0,), autoscaling={'target': 2, 'targetUtilizationPercentage': 100})

        eventually(lambda: self.replicas('web') >= 4, 'four replicas or more', LONG)
