"""The place of the agent in a run: who sits there may be killed and followed by another."""

import json

from gate import Gate, OpenGate
from node_agent.agent import Agent
from node_agent.node_stream import NodeStream


LOG = {'SLUICE_LOG_LEVEL': 'debug'}  # there the agent logs when it saw a container begin


def events(agent):
    """What an agent has logged so far, a dictionary a line."""
    return [json.loads(line) for line in agent.errors().splitlines() if line.startswith('{')]


class Seat:
    """The agent of a policy over a node, with the stream that receives its reports; empty for a policy
    that has none. `conditions`: the plan.Round."""

    def __init__(self, stage, policy, node, conditions):
        self.stage = stage
        self.program = policy.program
        self.node = node
        self.agent = None
        self.stream = None
        self.gate = OpenGate()
        self.state = None
        self.logged = []     # events of agents that are gone
        if not policy.has_agent():
            return
        self.stream = NodeStream()
        self.flags = {name.replace('-', '_'): value
                      for name, value in policy.flags_for(conditions.workload).items()}
        try:
            self.fill()
            self.stream.wait_for(lambda report: report.capacity_bytes > 0, 'the agent sees its node')
        except BaseException:
            self.close()
            raise
        if policy.gated and conditions.starts == 'ours':
            self.gate = Gate(self.stream)

    def fill(self):
        """Starts an agent over the state that the last one left."""
        self.agent = Agent(self.stage.build / self.program, self.stage.lab, self.node, state=self.state,
                           autoscaler=self.stream.address, environment=LOG, **self.flags)
        self.state = self.agent.state

    def events(self):
        """Of all agents that sat here."""
        return self.logged + (events(self.agent) if self.agent else [])

    def kill(self):
        self.agent.kill()
        self.leave()

    def leave(self):
        self.logged = self.events()
        self.agent.close()
        self.agent = None

    def close(self):
        if self.agent:
            self.agent.end()
            self.leave()
        if self.stream:
            self.stream.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
