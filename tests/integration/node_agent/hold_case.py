"""What the themes of held births share: jobs of which more are started at once than fit."""

import threading

from node_agent.case import AgentCase
from node_agent.lab import MIB
from wire import eventually

JOB = {'batch.kubernetes.io/job-name': 'job'}
LIMIT = 64 * MIB
GROWER = ('grow', 40, 20)                       # keeps what it took
HELD_MIB = 5
LEASE_SECONDS = 3


class HoldCase(AgentCase):
    """Jobs on a node for four of them by their limits, of which more are started at once by a starter that does not ask."""

    def agent(self, **given):
        return super().agent(**{'policy': 'foresight', 'sample': '50ms', 'lease': f'{LEASE_SECONDS}s', **given})

    def job_pod(self, name='job', **more):
        return self.pod(name, labels=JOB, **more)

    def jobs(self, count, arguments, memory=LIMIT):
        pod = self.job_pod()
        return self.start([pod.create(f'job-{number}', arguments, memory=memory) for number in range(count)])

    def start(self, made):
        starts = [threading.Thread(target=one.start) for one in made]
        for one in starts:
            one.start()
        for one in starts:
            one.join()
        return made

    def frozen(self, containers):
        return [one for one in containers if one.group.is_frozen()]

    def held(self, containers, count):
        eventually(lambda: len(self.frozen(containers)) >= count, f'{count} are held')
        return self.frozen(containers)

    def wait_thawed(self, containers, seconds):
        eventually(lambda: not self.frozen(containers), 'all run on', seconds)

    def unwatched(self, number):
        """A group for a pod, deeper than the agent watches before it has seen a container there."""
        group = self.node
        for level in range(4):
            group = group.child(f'deep-{number}-{level}')
        return group
