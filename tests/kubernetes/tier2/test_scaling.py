"""A workload that wakes, grows, shrinks and sleeps, with the controllers of a cluster and fake pods."""

from protowire import fields
from wire import eventually

from scaling.case import ScalingCase

LONG = 90  # seconds: two windows, a grace period and controllers


class Life(ScalingCase):
    def begin(self, replicas=0, **spec):
        self.configure()
        self.side = self.sidecars()
        self.workload('web', replicas)
        self.scale('web', **spec)
        running = self.autoscaler()
        self.way = self.activator(running)
        self.port = self.wait_port('web')
        self.way.stand_for(self.port)
        return running

    def in_flight(self, count):
        """Says so as the activator does."""
        self.way.stream.report(('web', count, count, self.place.name))

    def idle(self, condition, what):
        """Until then the activator says that nobody comes, and leaves those alone that it is to avoid."""
        def met():
            self.way.hold('web', self.place.name)
            if self.way.stream.states.get('web', {}).get('avoid'):
                self.apply('web')
            return condition()

        eventually(met, what, LONG)

    def ips(self):
        return {pod['status']['podIP'] for pod in self.place.ready_pods('web')}

    def test_it_wakes_serves_straight_and_sleeps_again(self):
        self.begin()
        self.wait_routed('web', {(self.way.ip, self.port)})

        self.in_flight(1)
        self.wait_ready('web', 1)
        self.wait_routed('web', {(ip, 8012) for ip in self.ips()})
        self.wait_condition('web', 'Active', 'True Serving')

        self.idle(lambda: self.routed('web') == {(self.way.ip, self.port)}, 'the activator is in the way again')
        self.assertEqual(self.replicas('web'), 1)
        self.idle(lambda: self.replicas('web') == 0, 'it sleeps')
        self.wait_condition('web', 'Active', 'False NoTraffic')
        eventually(lambda: self.events('ScaledToZero'), 'the event')

    def test_the_last_pod_stays_while_no_activator_stands_for_it(self):
        self.begin(replicas=1)
        pod = self.wait_ready('web', 1)[0]
        self.way.leave()

        self.wait_routed('web', {(pod['status']['podIP'], 8012)})
        scrapes = self.side.scrapes
        self.idle(lambda: self.side.scrapes > scrapes + 25, 'it was idle for long')

        self.assertEqual(self.replicas('web'), 1)

    def test_the_idlest_pods_go_first(self):
        self.begin(replicas=4, autoscaling={'target': 10, 'targetUtilizationPercentage': 100})
        pods = self.wait_ready('web', 4)
        busy = sorted(pod['status']['podIP'] for pod in pods)[1]
        for pod in pods:
            self.side.load[pod['status']['podIP']] = 0.1
        self.side.load[busy] = 5.0

        self.idle(lambda: self.ips() == {busy}, 'the busy one is left')

    def apply(self, name):
        """Confirms the newest state: nobody chooses those that are to be avoided."""
        state = self.way.stream.states[name]
        self.way.stream.say(fields(f3=fields(f1=fields(f1=self.place.name, f2=name), f2=state['version'])))

    def test_it_grows_with_the_load(self):
        self.begin(replicas=1, autoscaling={'target': 2, 'targetUtilizationPercentage': 100})
        pod = self.wait_ready('web', 1)[0]

        self.side.load[pod['status']['podIP']] = 8.0

        eventually(lambda: self.replicas('web') >= 4, 'four replicas or more', LONG)
