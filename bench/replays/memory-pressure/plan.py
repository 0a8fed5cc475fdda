"""Which runs there are, in which order, and which of them are repeated."""

import dataclasses
import itertools

OTHER_CORES_MAX = 0.1   # what else may use of the machine during a run
REPEATS_MAX = 2         # of a round; the last one is kept whatever it had


@dataclasses.dataclass(frozen=True)
class Round:
    """The runs that are compared with each other: the same jobs under every policy, in turns."""
    workload: str
    starts: str
    limit_factor: int
    overcommit: int
    seed: int
    policies: tuple     # in their order here

    def key(self, policy):
        """As ledger.Run.key."""
        return (self.workload, self.starts, policy, self.overcommit, self.limit_factor, self.seed)

    def __str__(self):
        limits = '' if self.limit_factor == 1 else f', limits x {self.limit_factor}'
        return f'{self.workload}, {self.overcommit} %{limits}, seed {self.seed}'


def rounds(options):
    """Every round. The order of the policies turns along each of the lists, so that no policy is always
    the first: neither of a level, nor of a seed."""
    lists = (options.seeds, options.workload, options.limit_factor, options.overcommit)
    for places in itertools.product(*(range(len(one)) for one in lists)):
        seed, workload, factor, level = (one[place] for one, place in zip(lists, places))
        at = sum(places) % len(options.policies)
        yield Round(workload, options.starts, factor, level, seed,
                    tuple(options.policies[at:] + options.policies[:at]))


def run_all(plan, ledger, measure, say):
    """Runs what of the plan is not in the ledger yet. `measure(round, policy)` is one run."""
    for one in plan:
        policies = [policy for policy in one.policies if one.key(policy) not in ledger]
        if policies:
            run_round(one, policies, ledger, measure, say)


def run_round(one, policies, ledger, measure, say):
    """A round in which other work took too much is broken off and begun again; after the last repetition it
    is kept, and all of it marked, because its runs are compared with each other."""
    for left in reversed(range(REPEATS_MAX + 1)):
        runs = measured_round(one, policies, ledger, measure, give_up=left > 0)
        if not disturbed(runs):
            return
        say(f'  {one}: other work took {max(run.other_cores for run in runs):.2f} of a core; '
            f'{"the round is repeated" if left else "the round is kept and marked"}')
    for run in runs:
        run.marked = True
    ledger.write()


def measured_round(one, policies, ledger, measure, give_up):
    """The runs of a round; only up to the first that was disturbed, if it is to `give_up` then."""
    runs = []
    for policy in policies:
        runs.append(measure(one, policy))
        if give_up and disturbed(runs):
            break
        ledger.add(runs[-1])
    return runs


def disturbed(runs):
    return any(run.other_cores > OTHER_CORES_MAX for run in runs)
