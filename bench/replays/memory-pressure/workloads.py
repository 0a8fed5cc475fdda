"""What runs on the small node: sizes of the experiment, and its two kinds of job."""

import dataclasses

MIB = 1 << 20
NODE_BYTES = 512 * MIB       # 32 GB / 64
JOB_MIB = 64                 # 4 GB / 64: what a job uses at most
JOBS = 44                    # four waves or more: with two, one job that is held costs a wave
AT_ONCE = {110: 9, 125: 10, 137: 11, 150: 12}   # overcommit in percent: containers at once
CORES = 0.6
ROUNDS, NAP_MS = 300_000, 60


@dataclasses.dataclass(frozen=True)
class Workload:
    """`rest_ms`: how long a job stays at its base after it has freed. `window`: {overcommit: (least, most)
    restarts per job without an agent} between which the experiment is the one it stands for."""
    name: str
    step_mib: int
    cycles: int
    rest_ms: int = 0
    window: dict = dataclasses.field(default_factory=dict)

    def arguments(self, seed):
        return ['vol', JOB_MIB, self.step_mib, self.cycles, ROUNDS, seed, NAP_MS, self.rest_ms]


WORKLOADS = {workload.name: workload for workload in (
    Workload('harsh', step_mib=4, cycles=40),
    # The paper's: steps of an eighth of the limit, 45 % of the time at the base, jobs of 364 s / 20.
    Workload('faithful', step_mib=8, cycles=63, rest_ms=130,
             window={110: (0, 0), 137: (0.2, 0.7), 150: (1, 2)}),
)}
STARTS = ('theirs', 'ours')  # who starts the jobs: theirs never asks the agent, as a kubelet does not
