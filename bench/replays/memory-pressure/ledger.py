"""The runs that were measured, in memory and in the file of --json, which a repeated call continues."""

import dataclasses
import json
import os


@dataclasses.dataclass
class Run:
    """One run: first what it was, by which it is found again, then what it had."""
    workload: str
    starts: str
    policy: str
    overcommit: int      # percent
    limit_factor: int    # limits, as multiples of what a job uses
    seed: int
    restarts_kernel: int = 0
    restarts_own: int = 0
    failed_starts: int = 0
    makespan_s: float = 0
    core_s: float = 0
    wasted_core_s: float = 0                    # of attempts that were killed, as last seen
    updates: int = 0
    freezes: int = 0
    peak_mib: float = 0                         # of the node's group, page cache and kernel memory included
    births_seen_ms_p99: float | None = None     # from a program's begin to the agent's sight; None: no births seen
    births_held_ms_p99: float | None = None     # and to the hold, of those that were held at birth
    births_held_mib_p99: float | None = None    # what those held then
    births_held_ms: list = dataclasses.field(default_factory=list)    # of each
    births_held_mib: list = dataclasses.field(default_factory=list)
    held_mib_per_s_max: float | None = None     # by how much a frozen container's memory moved
    other_cores: float = 0                      # what the rest of the machine used meanwhile
    marked: bool = False                        # of a round in which that was too much
    in_window: bool | None = None               # None: the workload has no window, or none was measured

    def restarts(self):
        return self.restarts_own + self.restarts_kernel

    def key(self):
        return (self.workload, self.starts, self.policy, self.overcommit, self.limit_factor, self.seed)


class Unreadable(Exception):
    """A file that this replay did not write."""


def read(path):
    """The runs of a file; none if there is no such file yet."""
    try:
        text = path.read_text(encoding='utf-8')
    except FileNotFoundError:
        return []
    try:
        objects = json.loads(text)
        return [Run(**one) for one in objects]
    except (ValueError, TypeError) as problem:
        raise Unreadable(f'--json {path} is no list of runs, delete it or name another file: {problem}') from problem


class Ledger:
    """The runs so far, each once. `judge` is given all of them before each write; what it says of one
    changes with those that come after it."""

    def __init__(self, path=None, judge=lambda runs: None):
        self.path = path
        self.judge = judge
        self.runs = {run.key(): run for run in read(path)} if path else {}

    def __contains__(self, key):
        return key in self.runs

    def add(self, run):
        """Replaces one of the same key."""
        self.runs[run.key()] = run
        self.write()

    def write(self):
        self.judge(self.all())
        if self.path is None:
            return
        draft = self.path.with_name(self.path.name + '.new')
        draft.write_text(json.dumps([dataclasses.asdict(run) for run in self.all()], indent=1) + '\n',
                         encoding='utf-8')
        os.replace(draft, self.path)

    def all(self):
        return list(self.runs.values())
