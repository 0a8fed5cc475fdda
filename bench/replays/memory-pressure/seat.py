"""The place of the agent in a run: who sits there may be killed and followed by another."""

from gate import Gate, OpenGate
from node_agent.agent import Agent
from node_agent.node_stream import NodeStream
from policies import SCALED


class Seat:
    """The agent of a policy over a node, with the stream that receives its reports. Empty without flags."""

    def __init__(self, stage, policy, node):
        self.stage = stage
        self.program = policy.program
        self.node = node
        self.agent = None
        self.stream = None
        self.gate = OpenGate()
        self.state = None
        if policy.flags is None:
            return
        self.stream = NodeStream()
        self.flags = {name.replace('-', '_'): value
                      for name, value in {**SCALED, **policy.flags}.items()}
        try:
            self.fill()
            self.stream.wait_for(lambda report: report.capacity_bytes > 0, 'the agent sees its node')
        except BaseException:
            self.close()
            raise
        if policy.gated:
            self.gate = Gate(self.stream, stage.hold)

    def fill(self):
        """Starts an agent over the state that the last one left."""
        self.agent = Agent(self.stage.build / self.program, self.stage.lab, self.node, state=self.state,
                           autoscaler=self.stream.address, **self.flags)
        self.state = self.agent.state

    def kill(self):
        self.agent.kill()
        self.agent.close()
        self.agent = None

    def close(self):
        if self.agent:
            self.agent.end()
            self.agent.close()
            self.agent = None
        if self.stream:
            self.stream.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
