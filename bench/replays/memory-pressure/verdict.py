"""What the runs of a replay say: the table, the ablation, and the bars beside the paper's numbers."""

import dataclasses
import statistics

POOLED = (137, 150)
FEWER_POOLED, FEWER_MEAN, LONGER_MAX = 58, 40, 5   # percent
ABLATION = ('off', 'gate-only', 'throttle-only', 'headroom')
PAPER = '''The paper's own (Kang and Yu 2024, three machines, jobs of minutes, 4 GB containers), beside it:
  restarts: -40 % on average over the cases that had any, -58 % at best (140 %), about -40 % at 150 %
  makespan: -7 % on average, -13 to -14 % at best (140 %); no cost where there were no restarts'''


@dataclasses.dataclass
class Bar:
    """One figure beside what it has to reach."""
    what: str
    reached: float | None
    text: str
    wanted: str
    ok: bool

    def line(self):
        if self.reached is None:
            return f'{self.what:<66} {"not measured":>14}  {self.wanted}'
        return f'{self.what:<66} {self.text:>14}  {self.wanted:<12} {"ok" if self.ok else "short"}'


def table(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return '\n'.join('  '.join(cell.rjust(width) if column > 1 else cell.ljust(width)
                               for column, (cell, width) in enumerate(zip(row, widths))).rstrip()
                     for row in rows)


def mean(values):
    values = list(values)
    return statistics.fmean(values) if values else None


def chosen(runs, policy, levels=None):
    return [run for run in runs if run.policy == policy and (levels is None or run.overcommit in levels)]


def ordered(values):
    return list(dict.fromkeys(values))


def runs_table(runs):
    """A line per level and policy: restarts of every seed, then means; the peak is the largest."""
    rows = [['overcommit', 'policy', 'restarts by seed', 'own', 'kernel', 'makespan s', 'core-s',
             'wasted core-s', 'updates', 'peak MiB']]
    for level in sorted(ordered(run.overcommit for run in runs)):
        for policy in ordered(run.policy for run in runs):
            some = chosen(runs, policy, [level])
            if some:
                rows.append([
                    f'{level} %', policy, ' '.join(str(run.restarts()) for run in some),
                    str(sum(run.restarts_own for run in some)),
                    str(sum(run.restarts_kernel for run in some)),
                    f'{mean(run.makespan_s for run in some):.1f}',
                    f'{mean(run.core_seconds for run in some):.1f}',
                    f'{mean(run.core_seconds_wasted for run in some):.1f}',
                    f'{mean(run.update_calls for run in some):.0f}',
                    f'{max(run.peak_bytes for run in some) / (1 << 20):.0f}'])
    return table(rows)


def ablation(runs):
    """What each part does alone, pooled over the levels at which there is something to do."""
    rows = [['policy', '', 'restarts', 'of them own', 'makespan s', 'core-s', 'updates']]
    for policy in ABLATION:
        some = chosen(runs, policy, POOLED)
        if some:
            rows.append([policy, f'{len(some)} runs', str(sum(run.restarts() for run in some)),
                         str(sum(run.restarts_own for run in some)),
                         f'{mean(run.makespan_s for run in some):.1f}',
                         f'{mean(run.core_seconds for run in some):.1f}',
                         f'{mean(run.update_calls for run in some):.0f}'])
    return table(rows)


def fewer(without, with_it):
    """How many percent fewer restarts; absent where there was none to save."""
    before = sum(run.restarts() for run in without)
    return (1 - sum(run.restarts() for run in with_it) / before) * 100 if before else None


def matched(runs, policy, levels):
    """The runs of `off` and of a policy over the same levels and seeds, in pairs."""
    with_it = {(run.overcommit, run.seed): run for run in chosen(runs, policy, levels)}
    pairs = [(run, with_it[run.overcommit, run.seed]) for run in chosen(runs, 'off', levels)
             if (run.overcommit, run.seed) in with_it]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def mean_of_levels(runs, policy):
    saved = [fewer(*matched(runs, policy, [level])) for level in ordered(run.overcommit for run in runs)]
    return mean(value for value in saved if value is not None)


def longer(runs, policy):
    """Makespan beside `off`, in percent."""
    without, with_it = matched(runs, policy, POOLED)
    if not without:
        return None
    return (mean(run.makespan_s for run in with_it) / mean(run.makespan_s for run in without) - 1) * 100


def percent(value):
    return '' if value is None else f'{value:+.1f} %'


def bars(runs):
    pooled = fewer(*matched(runs, 'headroom', POOLED))
    average = mean_of_levels(runs, 'headroom')
    span = longer(runs, 'headroom')
    own = [run.restarts_own for run in chosen(runs, 'headroom')]
    return [
        Bar('restarts, headroom against off, pooled over 137 and 150 %', pooled,
            '' if pooled is None else percent(-pooled), f'<= -{FEWER_POOLED} %', (pooled or 0) >= FEWER_POOLED),
        Bar('restarts, mean over the levels at which off had any', average,
            '' if average is None else percent(-average), f'<= -{FEWER_MEAN} %', (average or 0) >= FEWER_MEAN),
        Bar('makespan, headroom against off, mean of 137 and 150 %', span, percent(span),
            f'<= +{LONGER_MAX} %', (span or 0) <= LONGER_MAX),
        Bar('restarts that the hook caused while its gate is on', float(sum(own)) if own else None,
            str(sum(own)), '0', sum(own) == 0)]


def comparison(runs):
    """Every policy beside `off`, pooled over 137 and 150 %."""
    rows = [['policy', '', 'restarts', 'makespan']]
    for policy in ordered(run.policy for run in runs):
        saved = fewer(*matched(runs, policy, POOLED))
        if policy != 'off' and longer(runs, policy) is not None:
            rows.append([policy, 'against off', 'off had none' if saved is None else percent(-saved),
                         percent(longer(runs, policy))])
    return table(rows)


def print_verdict(runs, more=()):
    """`more`: bars of what was measured beside the runs."""
    if runs:
        print(runs_table(runs))
        print('\nAblation, 137 and 150 % together:')
        print(ablation(runs))
        print('\nAgainst off, 137 and 150 % together:')
        print(comparison(runs))
        print(f'\n{PAPER}\n')
    for bar in [*(bars(runs) if runs else ()), *more]:
        print(bar.line())
