"""Two autoscalers that share one bucket by a Lease: its holder takes the reports of node agents (protocols.md 4)."""

import tempfile

from engine import BIN
from program import Program
from wire import eventually

from .replicas_case import ReplicasTest, lease_of
from .test_nodes import FakeAgent

UNAVAILABLE = 14
LEASE = lease_of(0, 1)


class Agent(Program):
    """A real agent of node n1, which waits for a container runtime."""

    def __init__(self, *replicas):
        self.folder = tempfile.TemporaryDirectory(prefix='sluice-')
        super().__init__(
            [str(BIN / 'node-agent'), '--state-dir', self.folder.name,
             '--runtime-endpoint', f'unix://{self.folder.name}/no.sock'],
            {'SLUICE_METRICS_ADDRESS': '127.0.0.1:0', 'NODE_NAME': 'n1',
             'SLUICE_AUTOSCALER_ADDRESS': ','.join(replica.addresses['grpc'] for replica in replicas)})

    def close(self):
        super().close()
        self.folder.cleanup()


class Leading(ReplicasTest):
    def pair(self):
        """The one that leads, and one that stands by."""
        return self.replica(1).wait_leading(), self.replica(2)

    def agent(self, running):
        return self.kept(FakeAgent(running.addresses['grpc']))

    @staticmethod
    def hears(running):
        """Whether it has a report of n1 that counts."""
        return [node['silent'] for node in running.api('/nodes?here=1').json()['items']] == [False]

    def wait_heard(self, running):
        eventually(lambda: self.hears(running), 'the report of n1')

    def test_the_holder_takes_reports_and_the_other_replica_refuses_them(self):
        first, second = self.pair()

        refused = self.agent(second).report()
        self.assertEqual(refused.status, UNAVAILABLE)
        self.assertIn('first bucket', refused.message)
        self.assertEqual(list(self.agent(first).report().acks), [1])
        self.assertFalse(self.hears(second))

    def test_a_stream_ends_when_the_bucket_is_lost(self):
        only = self.replica(1).wait_leading()
        agent = self.agent(only).report()

        with self.api.lock:
            spec = self.api.objects[LEASE]['spec']
        self.api.put(LEASE, {'metadata': {'name': LEASE.rpartition('/')[2], 'namespace': 'system'}, 'spec': {
            **spec, 'holderIdentity': 'thief_127.0.0.9', 'leaseDurationSeconds': 3600}}, creates=None)

        agent.wait(lambda a: a.status is not None, 'the end of the stream')
        self.assertEqual(agent.status, UNAVAILABLE)
        self.assertEqual(self.agent(only).report().status, UNAVAILABLE)

    def test_an_agent_finds_the_holder_and_follows_the_bucket(self):
        first, second = self.pair()
        self.kept(Agent(second, first))
        self.wait_heard(first)
        self.assertFalse(self.hears(second))

        self.assertEqual(first.leave(), 0)

        self.wait_heard(second)

    def test_an_agent_finds_the_next_holder_after_a_kill(self):
        first, second = self.pair()
        self.kept(Agent(first, second))
        self.wait_heard(first)

        first.kill()

        self.wait_heard(second)

    def test_a_replica_of_a_directory_takes_reports_without_a_lease(self):
        self.assertEqual(list(self.agent(self.start()).report().acks), [1])
