"""One run of the experiment on the real runtime."""

import dataclasses
import pathlib
import sys
import time

import births
from jobs import LABELS, Workflow, small_node
from ledger import Run
from other_work import Meter
from policies import POLICIES
from seat import Seat
from wire import eventually
from workloads import MIB, WORKLOADS


@dataclasses.dataclass
class Stage:
    """What the runs of a replay share."""
    lab: object
    own: object                  # other_work.OwnWork
    build: pathlib.Path | None   # of its programs


def progress(text):
    print(text, file=sys.stderr, flush=True)


def run_once(stage, one, policy, watch=lambda seat, workflow: None):
    """A run of a plan.Round. Node, pod and agent are new for each. Calls and kills of the agent are
    counted in the log of the runtime: it says the same of every policy."""
    node = small_node(stage.lab)
    pod = stage.lab.pod(node, 'jobs', labels=LABELS)
    run = Run(one.workload, one.starts, policy.name, one.overcommit, one.limit_factor, one.seed)
    begin = len(stage.lab.log())
    meter = Meter(stage.own)
    samples = {}

    def look(seat, workflow):
        for container in frozen(workflow.running()):
            samples.setdefault(container.id, []).append((time.time(), container.group.memory_usage()))
        watch(seat, workflow)
    with Seat(stage, policy, node, one) as seat:
        workflow = Workflow(pod, one, WORKLOADS[one.workload], seat.gate)
        run.makespan_s = round(workflow.run(lambda: look(seat, workflow)), 2)
        run.updates = len(stage.lab.asked('UpdateContainerResources', begin))
    add_births(run, workflow.begun(), seat.events(), samples)
    stopped = set(stage.lab.asked('StopContainer', begin))
    run.restarts_own = sum(container in stopped for container in workflow.killed)
    run.restarts_kernel = len(workflow.killed) - run.restarts_own
    run.failed_starts = workflow.failed_starts
    run.core_s = round(node.cpu_seconds(), 2)
    run.wasted_core_s = round(workflow.wasted, 2)
    run.peak_mib = round(node.memory_peak() / MIB, 1)
    if workflow.other_ends:
        progress(f'  exit codes that are neither success nor a kill: {workflow.other_ends}')
    pod.remove()
    eventually(lambda: not list(node.folder('memory').glob('*/')), 'the node is empty again')
    run.other_cores = round(meter.cores(), 3)
    return run


def frozen(containers):
    """Those that the kernel keeps in its freezer."""
    found = []
    for container in containers:
        try:
            state = (container.group.folder('freezer') / 'freezer.state').read_text(encoding='ascii')
        except OSError:
            continue  # ended meanwhile
        if state.strip() != 'THAWED':
            found.append(container)
    return found


def add_births(run, begun, events, samples):
    """The figures of holds, from the agent's log, the jobs' own clocks and the kernel's samples."""
    held = births.held_at_birth(begun, events)
    run.freezes = sum(births.is_done(event, 'freeze') for event in events)
    run.births_seen_ms_p99 = births.p99(births.seen(begun, events).values(), 1000)
    in_holds = births.memory_in_holds(samples, events)
    run.births_held_ms = [round(delay * 1000, 2) for delay in held.values()]
    run.births_held_mib = [round(each / MIB, 2) for each in births.bytes_at_birth(held, in_holds)]
    run.births_held_ms_p99 = births.p99(run.births_held_ms)
    run.births_held_mib_p99 = births.p99(run.births_held_mib)
    rate = births.rate_max(in_holds)
    run.held_mib_per_s_max = None if rate is None else round(rate / MIB, 3)


def measured(stage, one, name):
    """A run of a policy by its name, told as it is done."""
    run = run_once(stage, one, POLICIES[name])
    progress(f'  {one}, {name}: {run.restarts()} restarts ({run.restarts_own} own), '
             f'{run.failed_starts} failed starts, {run.makespan_s:.1f} s, {run.core_s:.1f} core-s '
             f'({run.wasted_core_s:.1f} wasted), {run.updates} updates, {run.freezes} freezes, '
             f'peak {run.peak_mib:.0f} MiB, other work {run.other_cores:.2f} of a core')
    return run
