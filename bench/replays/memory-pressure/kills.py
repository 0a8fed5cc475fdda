"""SIGKILL of the agent in the middle of runs: whose throttles outlive it, and for how long."""

import dataclasses
import random
import time

from policies import TIGHT
from runs import progress, run_once
from verdict import Bar

OVERCOMMIT = 150
LEASE_SECONDS = 5     # as policies.SCALED gives it
SLACK_SECONDS = 1     # for the guardian to restore what it found
SETTLE_SECONDS = 3    # for a new agent, before it is killed in turn
PATIENCE_SECONDS = 4  # for something to be throttled, so that a kill leaves something behind
RUNS_MAX = 30


@dataclasses.dataclass
class Kill:
    """One SIGKILL: what was throttled then, and when the last of it was free again."""
    restarted: bool
    throttled: int
    at: float
    free_after: float | None = None


def throttled(containers):
    """Those whose quota in the kernel is not what they were started with: none."""
    found = []
    for container in containers:
        try:
            if container.quota()[0] != -1:
                found.append(container.id)
        except OSError:
            continue  # ended meanwhile
    return found


class Killer:
    """Kills the agent of a run at odd moments; every second one is never restarted, until its lease
    has passed and the next kill needs a victim."""

    def __init__(self, count, seed):
        self.random = random.Random(seed)
        self.count = count
        self.kills = []
        self.due = None
        self.left = []   # throttled by the dead agent and not free since

    def done(self):
        return len(self.kills) >= self.count and (not self.kills or self.kills[-1].free_after is not None)

    def watch(self, seat, workflow):
        """Called at every poll of a run."""
        now = time.monotonic()
        if seat.agent is None:
            self.wait_for_lease(seat, workflow, now)
        elif len(self.kills) < self.count:
            self.due = self.due or now + SETTLE_SECONDS + self.random.random()
            held = throttled(workflow.running())
            if now >= self.due and held or now >= self.due + PATIENCE_SECONDS:
                self.kill(seat, held, now)

    def kill(self, seat, held, now):
        self.kills.append(Kill(restarted=len(self.kills) % 2 == 0, throttled=len(held), at=now))
        seat.kill()
        self.left = held
        self.due = None
        if self.kills[-1].restarted:
            seat.fill()
            # What a living agent holds is its own decision; it is asked for at the end of the run.
            self.kills[-1].free_after = 0.0

    def wait_for_lease(self, seat, workflow, now):
        """Without an agent nothing new is throttled, so that what is seen was left by the dead one."""
        last = self.kills[-1]
        self.left = throttled(workflow.running())
        if not self.left and last.free_after is None:
            last.free_after = now - last.at
        if now - last.at > LEASE_SECONDS + SLACK_SECONDS:
            if last.free_after is None:
                last.free_after = float('inf')
            seat.fill()


def measured_kills(stage, count):
    """Runs the experiment until so many kills are done; the bars about them."""
    progress(f'  {count} SIGKILLs, every second agent never restarted')
    killer = Killer(count, seed=1)
    own = 0
    for seed in range(1, RUNS_MAX):
        outcome = run_once(stage, OVERCOMMIT, TIGHT, seed, killer.watch)
        own += outcome.restarts_own
        progress(f'  seed {seed}: {len(killer.kills)} kills so far, {outcome.restarts()} restarts '
                 f'({outcome.restarts_own} own), {outcome.makespan_s:.1f} s')
        if killer.done():
            break
        if killer.kills and killer.kills[-1].free_after is None:
            killer.kills.pop()  # the run ended meanwhile: no container was left to throttle
    alone = [one for one in killer.kills if not one.restarted]
    worst = max((one.free_after for one in alone), default=None)
    busy = sum(one.throttled > 0 for one in killer.kills)
    return [
        Bar(f'{len(killer.kills)} SIGKILLs ({busy} while containers were throttled), longest throttle after',
            worst, f'{worst:.1f} s' if worst is not None else '', f'<= {LEASE_SECONDS} s lease',
            worst is not None and worst <= LEASE_SECONDS + SLACK_SECONDS),
        Bar('restarts that the hook caused in those runs', float(own), str(own), '0', own == 0)]
