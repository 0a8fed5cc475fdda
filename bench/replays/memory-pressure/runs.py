"""One run of the experiment, and all of them in an order that lets no policy have the quiet hours."""

import dataclasses
import pathlib
import sys

from jobs import AT_ONCE, Outcome, Workflow, small_node
from policies import POLICIES
from seat import Seat
from wire import eventually


@dataclasses.dataclass
class Stage:
    """What the runs of a replay share."""
    lab: object
    build: pathlib.Path | None   # of its programs
    hold: float          # seconds for which a grant counts


def progress(text):
    print(text, file=sys.stderr, flush=True)


def run_once(stage, overcommit, policy, seed, watch=lambda seat, workflow: None):
    """One run; its Outcome. Node, pod and agent are new for each. Calls and kills of the agent are
    counted in the log of the runtime: it says the same of every policy."""
    node = small_node(stage.lab)
    pod = stage.lab.pod(node, 'jobs')
    outcome = Outcome(overcommit, policy.name, seed)
    begin = len(stage.lab.log())
    with Seat(stage, policy, node) as seat:
        workflow = Workflow(pod, AT_ONCE[overcommit], seed, seat.gate)
        outcome.makespan_s = workflow.run(lambda: watch(seat, workflow))
        outcome.update_calls = len(stage.lab.asked('UpdateContainerResources', begin))
    stopped = set(stage.lab.asked('StopContainer', begin))
    outcome.restarts_own = sum(one in stopped for one in workflow.killed)
    outcome.restarts_kernel = len(workflow.killed) - outcome.restarts_own
    outcome.core_seconds = node.cpu_seconds()
    outcome.core_seconds_wasted = workflow.wasted
    outcome.peak_bytes = node.memory_peak()
    if workflow.other_ends:
        progress(f'  exit codes that are neither success nor a kill: {workflow.other_ends}')
    if workflow.failed_starts:
        progress(f'  {workflow.failed_starts} starts failed on the full node')
    pod.remove()
    eventually(lambda: not list(node.folder('memory').glob('*/')), 'the node is empty again')
    return outcome


def planned(levels, policies, seeds):
    """(level, policy, seed) of every run. The order of the policies turns from round to round."""
    turn = 0
    for seed in seeds:
        for level in levels:
            at = turn % len(policies)
            for policy in policies[at:] + policies[:at]:
                yield level, POLICIES[policy], seed
            turn += 1


def run_all(stage, levels, policies, seeds):
    outcomes = []
    plan = list(planned(levels, policies, seeds))
    for number, (level, policy, seed) in enumerate(plan, 1):
        one = run_once(stage, level, policy, seed)
        outcomes.append(one)
        progress(f'  {number}/{len(plan)}: {level} %, {policy.name}, seed {seed}: {one.restarts()} restarts '
                 f'({one.restarts_own} own), {one.makespan_s:.1f} s, {one.core_seconds:.1f} core-s '
                 f'({one.core_seconds_wasted:.1f} wasted), {one.update_calls} updates, '
                 f'peak {one.peak_bytes >> 20} MiB')
    order = {name: at for at, name in enumerate(policies)}
    return sorted(outcomes, key=lambda run: (run.overcommit, order[run.policy], run.seed))
