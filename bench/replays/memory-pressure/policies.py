"""The rules that a replay compares, as programs of a build and their flags. Sizes are scaled like the
node."""

import dataclasses

# 200 MiB of a machine of 32 GB.
SCALED = {'reserve': '4Mi', 'lease': '5s'}
NODE_AGENT, PAPER_AGENT = 'bin/node-agent', 'tests/paper-agent'


@dataclasses.dataclass(frozen=True)
class Policy:
    """`gated`: where the starts are ours, a job starts only if the gate admits it. `by_workload`: flags that
    one workload needs instead. Without flags there is no agent at all."""
    name: str
    flags: dict | None = None
    gated: bool = False
    what: str = ''
    program: str = NODE_AGENT
    by_workload: dict = dataclasses.field(default_factory=dict)

    def has_agent(self):
        return self.flags is not None

    def flags_for(self, workload):
        return {**SCALED, **self.flags, **self.by_workload.get(workload, {})}


POLICIES = {policy.name: policy for policy in (
    Policy('off', what='no agent: the kernel kills'),
    # The set of memory-pressure.md 4 that did best here; its authors tune theirs by hand as well. The faithful
    # jobs use a tenth of the paper's CPU and take a twentieth of its time: so do quota and sample. The wait is as
    # long as it has to be for the rule to stop no container itself (memory-pressure.md 4).
    Policy('paper', {'upper': '0.92', 'lower': '0.86', 'escalate-after': '2s', 'step': '2', 'quota': '10m'},
           what='the rule of Kang and Yu, tuned', program=PAPER_AGENT,
           by_workload={'faithful': {'upper': '0.90', 'lower': '0.88', 'escalate-after': '2s',
                                     'quota': '1m', 'sample': '25ms'}}),
    Policy('headroom', {'policy': 'headroom'}, gated=True, what='the start gate of headroom, and its throttling'),
    Policy('throttle-only', {'policy': 'headroom', 'no-gate': None}, what='the throttling of headroom alone'),
    Policy('gate-only', {'policy': 'headroom', 'no-pause': None}, gated=True, what='the start gate of headroom alone'),
    Policy('foresight', {'policy': 'foresight'}, gated=True, what='the default: containers are held at birth'),
    Policy('foresight-late', {'policy': 'foresight', 'sight': '1s'}, gated=True, what='births seen a second late'),
    Policy('foresight-quota', {'policy': 'foresight', 'hold': 'quota', 'quota': '1m'}, gated=True,
           what='held by a quota, which lets something through'),
)}

# So careful that most wait although they fit: a SIGKILL then leaves something behind.
TIGHT = Policy('foresight, tight', {'policy': 'foresight', 'confidence': '10', 'reserve': '200Mi'})
