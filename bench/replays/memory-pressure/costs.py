"""How quickly the agent reacts, and what it costs itself."""

import contextlib
import os
import pathlib
import re
import statistics
import threading
import time

from node_agent.agent import Agent
from node_agent.lab import MIB
from policies import NODE_AGENT, PAPER_AGENT, SCALED
from runs import progress
from seat import events
from verdict import Bar, quantile
from wire import Deadline, eventually

CROSSINGS = 30
CONTAINERS = 100
COST_SECONDS = 30
REACTION_MAX_MS, CORE_MAX, RSS_MAX_MIB = 100, 0.01, 20
TICKS = os.sysconf('SC_CLK_TCK')


def reactions(agent):
    """Seconds from the sample that showed a crossing to the runtime's word that the quota is in the
    kernel, of every throttle: by the agent's own clock, the only one that knows of its samples."""
    return [float(event['since_sample_ms']) / 1000 for event in events(agent)
            if event['message'] == 'throttle' and event['outcome'] == 'ok']


def crossing(pod, node, number):
    """Seconds from the moment the node's memory crosses its threshold to a quota in the kernel, seen
    from outside: the wait for the next sample is in it."""
    quiet = pod.run(f'quiet-{number}', ['grow', 8], memory=16 * MIB)
    eventually(lambda: node.working_set() < 100 * MIB and not quota_of(quiet), 'the node is calm')
    grower = pod.run(f'grower-{number}', ['grow', 130, 5], memory=160 * MIB)
    deadline = Deadline(20)
    crossed = None
    while not deadline.passed():
        if crossed is None and node.working_set() > 128 * MIB:
            crossed = time.monotonic()
        if quota_of(quiet) or quota_of(grower):
            seen = time.monotonic()
            break
    else:
        raise AssertionError('nothing was throttled within 20 s of growth')
    for one in (grower, quiet):
        one.remove()
    return seen - (crossed or seen)


def quota_of(container):
    """Whether it has a quota in the kernel."""
    try:
        return container.quota()[0] != -1
    except OSError:
        return False


def measured_reaction(stage):
    progress(f'  reaction: {CROSSINGS} crossings of a threshold')
    node = stage.lab.node(256 * MIB)
    pod = stage.lab.pod(node, 'crossings')
    agent = Agent(stage.build / PAPER_AGENT, stage.lab, node, **SCALED, upper='0.5', lower='0.45',
                  escalate_after='60s', sample='50ms', step=20)
    with contextlib.closing(agent):
        outside = [crossing(pod, node, number) for number in range(CROSSINGS)]
        agent.end()
        inside = reactions(agent)
    pod.remove()
    for what, seen in (('sample', inside), ('crossing', outside)):
        progress(f'  from the {what}: median {statistics.median(seen) * 1000:.0f} ms, longest '
                 f'{max(seen) * 1000:.0f} ms of {len(seen)}; load average {os.getloadavg()[0]:.1f}')
    reached, with_wait = quantile(inside, 0.99) * 1000, quantile(outside, 0.99) * 1000
    return [
        Bar(f'reaction, from the sample to the quota in the kernel, p99 of {len(inside)}', reached,
            f'{reached:.0f} ms', f'< {REACTION_MAX_MS} ms', reached < REACTION_MAX_MS),
        Bar(f'  from the crossing itself, the wait for a sample in it, p99 of {len(outside)}', with_wait,
            f'{with_wait:.0f} ms', 'no bar', True)]


def family(pid):
    """The agent and the guardian that it started."""
    children = pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text(encoding='ascii').split()
    return [pid, *map(int, children)]


def cpu_seconds(pid):
    words = pathlib.Path(f'/proc/{pid}/stat').read_text(encoding='ascii').rsplit(')', 1)[1].split()
    return (int(words[11]) + int(words[12])) / TICKS


def rss_mib(pid):
    status = pathlib.Path(f'/proc/{pid}/status').read_text(encoding='ascii')
    return int(re.search(r'VmRSS:\s+(\d+)', status).group(1)) / 1024


def pss_mib(pid):
    """Pages that several processes map, as those of the program itself, count in parts."""
    rollup = pathlib.Path(f'/proc/{pid}/smaps_rollup').read_text(encoding='ascii')
    return int(re.search(r'^Pss:\s+(\d+)', rollup, re.MULTILINE).group(1)) / 1024


def measured_own_cost(stage):
    progress(f'  own cost beside {CONTAINERS} containers, {COST_SECONDS} s')
    node = stage.lab.node(1024 * MIB)
    pod = stage.lab.pod(node, 'many')
    for number in range(CONTAINERS):
        pod.run(f'still-{number}', ['pause'], memory=64 * MIB)
    agent = Agent(stage.build / NODE_AGENT, stage.lab, node, **{**SCALED, 'sample': '250ms'})
    with contextlib.closing(agent):
        threading.Event().wait(5)  # what the start costs is not what running costs
        members = family(agent.pid)
        before, began = sum(map(cpu_seconds, members)), time.monotonic()
        threading.Event().wait(COST_SECONDS)
        cores = (sum(map(cpu_seconds, members)) - before) / (time.monotonic() - began)
        both = sum(map(pss_mib, members))
        own = rss_mib(agent.pid)
        agent.end()
    pod.remove()
    progress(f'  load average {os.getloadavg()[0]:.1f}')
    return [
        Bar(f'CPU of the agent beside {CONTAINERS} containers', cores, f'{cores * 100:.2f} %',
            f'< {CORE_MAX * 100:.0f} %', cores < CORE_MAX),
        Bar(f'memory of the agent beside {CONTAINERS} containers', own, f'{own:.1f} MiB',
            f'<= {RSS_MAX_MIB} MiB', own <= RSS_MAX_MIB),
        Bar('  with its guardian, shared pages counted once (PSS)', both, f'{both:.1f} MiB',
            f'<= {RSS_MAX_MIB} MiB', both <= RSS_MAX_MIB)]


def measured_costs(stage):
    return [*measured_reaction(stage), *measured_own_cost(stage)]
