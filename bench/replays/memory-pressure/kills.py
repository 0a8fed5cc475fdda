"""SIGKILL of the agent in the middle of runs: which containers stay frozen without it, and for how long."""

import dataclasses
import random
import time

from plan import Round
from policies import SCALED, TIGHT
from runs import frozen, progress, run_once
from verdict import Bar
from workloads import NODE_BYTES

# What is thawed fits: a restart here would come from the kill.
OVERCOMMIT = 110
FROZEN_MIN = 5        # at a kill, so that it leaves something behind
LEASE_SECONDS = int(SCALED['lease'].removesuffix('s'))
SLACK_SECONDS = 1     # for the guardian to thaw what it found
EACH_SECONDS = 1      # for each further one, where usage is above the lower threshold
LOWER = 0.84          # that threshold, of the node's memory
SETTLE_SECONDS = 3    # for a new agent, before it is killed in turn
RUNS_MAX = 10


@dataclasses.dataclass
class Kill:
    """One SIGKILL: how many were frozen then, by when they had to run, and when the last of them did."""
    restarted: bool
    frozen: int
    at: float
    allowed: float = LEASE_SECONDS + SLACK_SECONDS
    free_after: float | None = None


class Killer:
    """Kills the agent of a run at odd moments; every second one is never restarted, until its lease
    has passed and the next kill needs a victim."""

    def __init__(self, count, seed):
        self.random = random.Random(seed)
        self.count = count
        self.kills = []
        self.due = None

    def done(self):
        return len(self.kills) >= self.count and self.kills[-1].free_after is not None

    def watch(self, seat, workflow):
        """Called at every poll of a run."""
        now = time.monotonic()
        if seat.agent is None:
            self.wait_for_lease(seat, workflow, now)
        elif len(self.kills) < self.count:
            self.due = self.due or now + SETTLE_SECONDS + self.random.random()
            held = frozen(workflow.running())
            if now >= self.due and len(held) >= FROZEN_MIN:
                self.kill(seat, held, now)

    def kill(self, seat, held, now):
        self.kills.append(Kill(restarted=len(self.kills) % 2 == 0, frozen=len(held), at=now))
        seat.kill()
        self.due = None
        if self.kills[-1].restarted:
            seat.fill()
            # What a running agent holds is its own decision; restarts are counted at the end of the run.
            self.kills[-1].free_after = 0.0

    def wait_for_lease(self, seat, workflow, now):
        """Without an agent nothing new is frozen, so that what is found was left by the dead one."""
        last = self.kills[-1]
        if last.free_after is None and not frozen(workflow.running()):
            last.free_after = now - last.at
        if seat.node.working_set() > LOWER * NODE_BYTES:
            last.allowed = LEASE_SECONDS + SLACK_SECONDS + EACH_SECONDS * (last.frozen - 1)
        if now - last.at > last.allowed + SLACK_SECONDS:  # the guardian, too, is at its end by then
            if last.free_after is None:
                last.free_after = float('inf')
            seat.fill()


def measured_kills(stage, count):
    """Runs the experiment until so many kills are done; the bars about them."""
    progress(f'  {count} SIGKILLs with {FROZEN_MIN} or more frozen, every second agent never restarted')
    killer = Killer(count, seed=1)
    restarts = 0
    for seed in range(1, RUNS_MAX + 1):
        one = Round('harsh', 'theirs', 1, OVERCOMMIT, seed, (TIGHT.name,))
        run = run_once(stage, one, TIGHT, killer.watch)
        restarts += run.restarts()
        progress(f'  seed {seed}: {len(killer.kills)} kills so far, {run.restarts()} restarts '
                 f'({run.restarts_own} own), {run.makespan_s:.1f} s')
        if killer.done():
            break
        if killer.kills and killer.kills[-1].free_after is None:
            killer.kills.pop()  # the run ended meanwhile: no container was left to freeze
    return kill_bars(killer.kills, count, restarts)


def kill_bars(kills, count, restarts):
    alone = [one for one in kills if not one.restarted]
    worst = max((one.free_after for one in alone), default=None)
    late = sum(one.free_after > one.allowed for one in alone)
    return [
        Bar(f'SIGKILLs with {FROZEN_MIN} or more frozen', float(len(kills)), str(len(kills)), f'{count}',
            len(kills) >= count),
        Bar('  the last one thawed after, at most', worst, f'{worst:.1f} s' if alone else '',
            f'<= {LEASE_SECONDS} + {SLACK_SECONDS} s, + {EACH_SECONDS} s each above L', late == 0),
        Bar('  restarts in those runs', float(restarts), str(restarts), '0', restarts == 0)]
