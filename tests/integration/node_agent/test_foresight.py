"""Containers held from their birth on a real runtime, by the agent's own rule."""

import pathlib
import signal
import threading

from node_agent import cgroup
from node_agent.case import AgentCase
from node_agent.cri import RUNNING
from node_agent.lab import MIB
from wire import eventually

JOB = {'batch.kubernetes.io/job-name': 'job'}
LIMIT_MIB = 64
# As the reference's laboratory: memory is 1/64, so kin are known sooner is not: strangers are judged by limits.
FORESIGHT = {'policy': 'foresight', 'sample': '50ms', 'reserve': '4Mi'}
LEASE_SECONDS = 3


class HoldCase(AgentCase):
    """A node of 256 MiB, jobs that may take 64 MiB and take 48 in a second."""

    def job_pod(self, name='job', **more):
        return self.pod(name, labels=JOB, **more)

    def jobs(self, count, arguments=('grow', 48, 20), memory=LIMIT_MIB * MIB):
        """Started together, as a kubelet that does not ask starts them."""
        pod = self.job_pod()
        made = [pod.create('job', arguments, attempt=number, memory=memory) for number in range(count)]
        threads = [threading.Thread(target=one.start) for one in made]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return made

    def frozen(self, containers):
        return [one for one in containers if one.group.is_frozen()]

    def wait_frozen(self, containers, count, seconds=20):
        eventually(lambda: len(self.frozen(containers)) >= count, f'{count} of them are frozen', seconds)
        return self.frozen(containers)

    def kills(self):
        return self.node.kernel_kills()
