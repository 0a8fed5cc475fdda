"""The rules that a replay compares, as programs of a build and their flags. Sizes are scaled like the
node."""

import dataclasses

# 200 MiB of a machine of 32 GB.
SCALED = {'reserve': '4Mi', 'lease': '5s'}
NODE_AGENT, PAPER_AGENT = 'bin/node-agent', 'tests/paper-agent'


@dataclasses.dataclass(frozen=True)
class Policy:
    """`gated`: a job starts only if the gate admits it. Without flags there is no agent at all."""
    name: str
    flags: dict | None = None
    gated: bool = False
    what: str = ''
    program: str = NODE_AGENT


POLICIES = {policy.name: policy for policy in (
    Policy('off', what='no agent: the kernel kills'),
    # The set of memory-pressure.md 4 that did best here; its authors tune theirs by hand as well.
    Policy('paper', {'upper': '0.92', 'lower': '0.86', 'escalate-after': '2s', 'step': '2', 'quota': '10m'},
           what='the rule of Kang and Yu, tuned', program=PAPER_AGENT),
    Policy('gate-only', {'no-pause': None}, gated=True, what='the start gate of headroom alone'),
    Policy('throttle-only', {'no-gate': None}, what='the throttling of headroom alone'),
    Policy('headroom', {}, gated=True, what='both'),
)}

# Behind its gate headroom seldom has to throttle. Bounds that every run crosses give a SIGKILL
# something to leave behind.
TIGHT = Policy('headroom, tight', {'upper': '0.75', 'lower': '0.65'}, gated=True)
