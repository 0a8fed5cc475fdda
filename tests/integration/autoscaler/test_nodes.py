"""What node agents report: throttled pods leave routing, a shut gate bounds growth (protocols.md 4)."""

from protowire import fields, parse

from .case import AutoscalerTest
from .fake_activator import FakeActivator
from .grpc_stream import GrpcStream

METHOD = '/sluice.v1.NodeStream/Report'
ASLEEP = {'autoscaling.knative.dev/initial-scale': '0'}
MIB = 1 << 20
HIGH = 2


class FakeAgent(GrpcStream):
    """An agent of one node; acks are kept by sequence."""

    def __init__(self, address, node='n1', tls=None):
        super().__init__(address, METHOD, tls)
        self.node = node
        self.sequence = 0
        self.acks = {}

    def report(self, admit=1024 * MIB, throttled=(), protocol=1, dry_run=False):
        """Sends one and waits for its ack; `throttled` are names of pods."""
        self.sequence += 1
        pods = [fields(f1='uid', f2='default', f3=pod, f4='user', f5=2503, f6=100000, f7=1000, f8=3)
                for pod in throttled]
        self.say(fields(f1=protocol, f2=self.node, f3='boot', f4=self.sequence,
                        f5=HIGH if throttled else 1, f6=8192 * MIB, f7=1024 * MIB, f12=admit,
                        f13=pods, f15=int(dry_run), f16='test'))
        return self.wait(lambda a: self.sequence in a.acks or a.status is not None, 'the ack')

    def known(self):
        return self.acks

    def hear(self, message):
        ack = parse(message)
        self.acks[ack[1][0]] = ack.get(2, [0])[0]


class Nodes(AutoscalerTest):
    def agent(self, running, **options):
        made = FakeAgent(running.addresses['grpc'], **options)
        self.addCleanup(made.close)
        return made

    def activator(self, running):
        made = FakeActivator(running.addresses['grpc'])
        self.addCleanup(made.close)
        return made.wait(lambda a: a.snapshot is not None, 'the snapshot')

    def asleep(self, *names):
        self.platform.put('config-autoscaler.json', {'allow-zero-initial-scale': 'true'})
        for name in names:
            self.platform.revision(name, annotations=ASLEEP)

    def test_every_report_is_acknowledged_and_shown(self):
        running = self.start()
        agent = self.agent(running).report(admit=300 * MIB)
        self.assertEqual(agent.acks, {1: 10000})
        agent.report(admit=200 * MIB, throttled=['app-1'])
        self.assertEqual(sorted(agent.acks), [1, 2])
        node, = running.api('/nodes').json()['items']
        self.assertEqual((node['name'], node['pressure'], node['admit_bytes'], node['silent']),
                         ('n1', 'high', 200 * MIB, False))
        self.assertEqual(node['throttled'][0]['pod'], 'app-1')
        agent.report(admit=2**63 - 1)  # it has no gate
        self.assertEqual(running.api('/nodes').json()['items'][0]['admit_bytes'], 8192 * MIB)

    def test_another_protocol_is_refused_with_both_numbers(self):
        agent = self.agent(self.start()).report(protocol=7)
        self.assertEqual(agent.status, 9)
        self.assertIn('7', agent.message)
        self.assertIn('1', agent.message)

    def test_a_stream_reports_for_one_node(self):
        agent = self.agent(self.start()).report()
        agent.node = 'n2'
        agent.report()
        self.assertEqual(agent.status, 3)

    def test_a_throttled_pod_is_avoided_and_does_not_count_as_ready(self):
        pods = [self.pod('pod-1'), self.pod('pod-2')]
        self.platform.revision('app', [pod.entry() for pod in pods])
        running = self.start()
        activator = self.activator(running)
        self.assertEqual((activator.states['app']['ready'], activator.states['app']['avoid']), (2, []))
        agent = self.agent(running).report(throttled=['pod-2'])
        activator.wait(lambda a: a.states['app']['avoid'] == [pods[1].address], 'the pod to avoid')
        self.assertEqual(activator.states['app']['ready'], 1)
        replicas = running.api('/services/default/app').json()['replicas']
        self.assertEqual([each['throttled'] for each in replicas], [False, True])

        agent.report()
        activator.wait(lambda a: a.states['app']['avoid'] == [], 'no pod to avoid')

    def test_a_shut_gate_grants_no_start_and_an_open_one_does(self):
        self.asleep('app')
        running = self.start()
        activator = self.activator(running)
        agent = self.agent(running).report(admit=0)
        activator.report(('app', 1, 1), waiting=[('app', 1)])
        activator.wait(lambda a: a.states['app']['desired'] == 1, 'the wish')
        self.assertEqual(activator.states['app']['granted'], 0)
        self.assertEqual(activator.states['app']['cannot_scale'], 5)
        self.assertEqual(self.platform.scale('app')['replicas'], 0)

        agent.report(admit=64 * MIB)
        activator.wait(lambda a: a.states['app']['granted'] == 1, 'the grant')
        self.platform.wait_for_scale('app', lambda order: order['replicas'] == 1)

    def test_memory_granted_to_one_revision_is_not_granted_to_another(self):
        self.asleep('one', 'two')
        running = self.start()
        activator = self.activator(running)
        self.agent(running).report(admit=100 * MIB)
        activator.report(('one', 1, 1), waiting=[('one', 1)])
        activator.wait(lambda a: a.states['one']['granted'] == 1, 'the grant')
        activator.report(('two', 1, 1), waiting=[('one', 1), ('two', 1)])
        activator.wait(lambda a: a.states['two']['desired'] == 1, 'the wish')
        self.assertEqual(activator.states['two']['granted'], 0)

    def test_many_starts_at_once_are_spaced_and_all_happen(self):
        names = ['one', 'two', 'three', 'four']
        self.asleep(*names)
        running = self.start()
        activator = self.activator(running)
        self.agent(running).report(admit=1024 * MIB)
        activator.report(*((name, 1, 1) for name in names), waiting=[(name, 1) for name in names])
        for name in names:
            self.platform.wait_for_scale(name, lambda order: order['replicas'] == 1)
            activator.wait(lambda a, name=name: a.states[name]['granted'] == 1, 'the grant')
            self.assertNotIn('cannot_scale', {key for key, value in activator.states[name].items() if value})

    def test_a_shut_gate_removes_nothing(self):
        pods = [self.pod('pod-1'), self.pod('pod-2')]
        self.platform.revision('app', [pod.entry() for pod in pods])
        running = self.start()
        activator = self.activator(running)
        self.agent(running).report(admit=0)
        self.assertEqual(self.platform.scale('app')['replicas'], 2)
        self.assertEqual(activator.states['app']['avoid'], [])

    def test_an_agent_in_a_dry_run_changes_nothing(self):
        self.asleep('app')
        running = self.start()
        activator = self.activator(running)
        self.agent(running).report(admit=0, dry_run=True)
        activator.report(('app', 1, 1), waiting=[('app', 1)])
        activator.wait(lambda a: a.states['app']['granted'] == 1, 'the grant')
