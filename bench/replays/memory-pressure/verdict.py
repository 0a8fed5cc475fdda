"""What the runs of a replay say: the tables, the ablation, and the bars beside the paper's numbers."""

import dataclasses
import statistics

from workloads import JOBS, WORKLOADS

POOLED = (137, 150)
# Percent. The published rule saves 40; of what is measured here, foresight has to save more.
FEWER, FEWER_PAPER = 90, 30
LONGER_MAX, HARSH_LONGER_MAX = 5, -10
LIMITS_AT, ABLATION_AT, ABLATION_SEEDS = 150, 150, (1, 2)
BIRTH_MS_MAX, BIRTH_MIB_MAX, HELD_RATE_MAX = 20, 5, 0.1
BIRTHS_WITHIN = 99   # percent
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
            return f'{self.what:<66} {self.text or "not measured":>14}  {self.wanted}'
        return f'{self.what:<66} {self.text:>14}  {self.wanted:<12} {"ok" if self.ok else "short"}'


def table(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return '\n'.join('  '.join(cell.rjust(width) if column > 1 else cell.ljust(width)
                               for column, (cell, width) in enumerate(zip(row, widths))).rstrip()
                     for row in rows)


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def mean(values):
    values = list(values)
    return statistics.fmean(values) if values else None


def ordered(values):
    return list(dict.fromkeys(values))


def percent(value):
    return '' if value is None else f'{value:+.1f} %'


def severity(runs):
    """{overcommit: (restarts per job without an agent, least and most of the window)} where both are known;
    `runs` are of one workload."""
    found = {}
    for level, (least, most) in WORKLOADS[runs[0].workload].window.items() if runs else ():
        restarts = mean(run.restarts() / JOBS for run in runs if run.policy == 'off' and run.overcommit == level)
        if restarts is not None:
            found[level] = restarts, least, most
    return found


def in_window(runs):
    """Whether the experiment is the one it stands for; None: no level that tells was measured."""
    found = severity(runs).values()
    return all(least <= restarts <= most for restarts, least, most in found) if found else None


def groups(runs):
    """{(workload, starts): its runs, in order}: what is judged together."""
    found = {}
    for run in sorted(runs, key=lambda run: (run.workload, run.starts, run.overcommit, run.limit_factor)):
        found.setdefault((run.workload, run.starts), []).append(run)
    return found


def judge(runs):
    """Writes into each run whether its experiment is in the window, as far as can be said now."""
    for some in groups(runs).values():
        judged = in_window(some)
        for run in some:
            run.in_window = judged


def matched(runs, policy, levels, factor=1, seeds=None):
    """The runs of `off` and of a policy under the same conditions, in pairs: two lists."""
    def chosen(name):
        return {(run.overcommit, run.seed): run for run in runs
                if run.policy == name and run.overcommit in levels and run.limit_factor == factor
                and (seeds is None or run.seed in seeds)}
    without, with_it = chosen('off'), chosen(policy)
    both = [key for key in without if key in with_it]
    return [without[key] for key in both], [with_it[key] for key in both]


def restarts(runs):
    return sum(run.restarts() for run in runs)


def fewer(without, with_it):
    """Restarts beside `off`, in percent; None where there were none to save."""
    return (restarts(with_it) / restarts(without) - 1) * 100 if restarts(without) else None


def longer(without, with_it):
    """Makespan beside `off`, in percent; None without pairs."""
    if not without:
        return None
    return (mean(run.makespan_s for run in with_it) / mean(run.makespan_s for run in without) - 1) * 100


def runs_table(runs):
    """A line per level, limits and policy: restarts of every seed, then sums and means; peak and births are
    the worst."""
    rows = [['overcommit', 'policy', 'limits', 'restarts by seed', 'own', 'kernel', 'failed starts', 'makespan s',
             'core-s', 'wasted', 'updates', 'freezes', 'peak MiB', 'births ms', 'marked']]
    for level, factor, policy in ordered((run.overcommit, run.limit_factor, run.policy) for run in runs):
        some = sorted((run for run in runs
                       if (run.overcommit, run.limit_factor, run.policy) == (level, factor, policy)),
                      key=lambda run: run.seed)
        births = [run.births_seen_ms_p99 for run in some if run.births_seen_ms_p99 is not None]
        rows.append([
            f'{level} %', policy, f'x {factor}', ' '.join(str(run.restarts()) for run in some),
            str(sum(run.restarts_own for run in some)), str(sum(run.restarts_kernel for run in some)),
            str(sum(run.failed_starts for run in some)), f'{mean(run.makespan_s for run in some):.1f}',
            f'{mean(run.core_s for run in some):.1f}', f'{mean(run.wasted_core_s for run in some):.1f}',
            f'{mean(run.updates for run in some):.0f}', f'{mean(run.freezes for run in some):.0f}',
            f'{max(run.peak_mib for run in some):.0f}', f'{max(births):.0f}' if births else '-',
            str(sum(run.marked for run in some))])
    return table(rows)


def ablation(runs):
    """Every policy beside `off`, where most is to be saved; None without two of them."""
    rows = [['policy', '', 'restarts', 'of them own', 'against off', 'failed starts', 'makespan', 'core-s', 'updates',
             'freezes']]
    for policy in ordered(run.policy for run in runs):
        without, some = matched(runs, policy, [ABLATION_AT], seeds=ABLATION_SEEDS)
        if some:
            saved = fewer(without, some)
            rows.append([policy, f'{len(some)} runs', str(restarts(some)), str(sum(run.restarts_own for run in some)),
                         'off had none' if saved is None else percent(saved),
                         str(sum(run.failed_starts for run in some)), percent(longer(without, some)),
                         f'{mean(run.core_s for run in some):.1f}', f'{mean(run.updates for run in some):.0f}',
                         f'{mean(run.freezes for run in some):.0f}'])
    return table(rows) if len(rows) > 2 else None


def restarts_bar(what, pairs, wanted):
    without, with_it = pairs
    saved = fewer(without, with_it)
    text = percent(saved) if saved is not None else 'off had none' if without else ''
    return Bar(what, saved, text, f'<= -{wanted} %', saved is not None and saved <= -wanted)


def makespan_bar(what, pairs, most):
    span = longer(*pairs)
    return Bar(what, span, percent(span), f'<= {most:+d} %', span is not None and span <= most)


def bars(runs):
    """Of one workload and one kind of starts: foresight against `off`, and the published rule where the
    experiment is the paper's."""
    levels = ordered(run.overcommit for run in runs)
    made = []
    for level in POOLED:
        made.append(restarts_bar(f'restarts at {level} %', matched(runs, 'foresight', [level]), FEWER))
    own = [run.restarts_own for run in runs if run.policy == 'foresight']
    made.append(Bar('restarts that the hook caused', float(sum(own)) if own else None, str(sum(own)) if own else '',
                    '0', sum(own) == 0))
    made += failed_starts_bar(*matched(runs, 'foresight', levels))
    for level in levels:
        hard = runs[0].workload == 'harsh' and level in POOLED
        made.append(makespan_bar(f'makespan at {level} %', matched(runs, 'foresight', [level]),
                                 HARSH_LONGER_MAX if hard else LONGER_MAX))
    for factor in ordered(run.limit_factor for run in runs if run.limit_factor > 1):
        pairs = matched(runs, 'foresight', [LIMITS_AT], factor)
        made.append(restarts_bar(f'restarts at {LIMITS_AT} %, limits x {factor}', pairs, FEWER))
        made.append(makespan_bar(f'makespan at {LIMITS_AT} %, limits x {factor}', pairs, LONGER_MAX))
    made += [worst_bar('births: from exec until seen, p99 of the worst run', runs, 'births_seen_ms_p99', 'ms',
                       BIRTH_MS_MAX),
             share_bar('births: held within 20 ms of exec', runs, 'births_held_ms', BIRTH_MS_MAX),
             share_bar('births: held below 5 MiB', runs, 'births_held_mib', BIRTH_MIB_MAX),
             worst_bar('memory of a frozen container moves at most', runs, 'held_mib_per_s_max', 'MiB/s',
                       HELD_RATE_MAX)]
    if severity(runs):
        made.append(restarts_bar('published rule: restarts, 137 and 150 % together', matched(runs, 'paper', POOLED),
                                 FEWER_PAPER))
    return made


def worst_bar(what, runs, field, unit, most):
    worst = max((value for run in runs if run.policy == 'foresight'
                 for value in [getattr(run, field)] if value is not None), default=None)
    return Bar(what, worst, '' if worst is None else f'{worst:.3g} {unit}', f'<= {most} {unit}',
               worst is not None and worst <= most)


def share_bar(what, runs, field, most):
    """Of all births that were held at once under foresight, in all runs."""
    values = [value for run in runs if run.policy == 'foresight' for value in getattr(run, field)]
    within = 100 * sum(value <= most for value in values) / len(values) if values else None
    return Bar(what, within, '' if within is None else f'{within:.1f} % of {len(values)}', f'{BIRTHS_WITHIN} %',
               within is not None and within >= BIRTHS_WITHIN)


def failed_starts_bar(without, with_it):
    ours, theirs = (sum(run.failed_starts for run in some) for some in (with_it, without))
    return [Bar('failed starts', float(ours) if with_it else None, str(ours) if with_it else '',
                f'<= {theirs} (off)', ours <= theirs)]


def window_text(runs):
    """What is said of the severity above the tables; empty: the workload has no window."""
    found = severity(runs)
    if not WORKLOADS[runs[0].workload].window:
        return ''
    if not found:
        return 'severity unknown: no run of off at a level that tells\n'
    told = ', '.join(f'{level} %: {restarts:.2f} restarts per job ({least} to {most})'
                     for level, (restarts, least, most) in found.items())
    return ('inside its window' if in_window(runs) else "not the paper's experiment") + f': off at {told}\n'


def print_verdict(runs, more=()):
    """`more`: bars of what was measured beside the runs."""
    for (workload, starts), some in groups(runs).items():
        print(f'\n== {workload} workload, starts {starts}\n{window_text(some)}{runs_table(some)}')
        parts = ablation(some)
        if parts:
            print(f'\nAblation, {ABLATION_AT} %, seeds {" and ".join(map(str, ABLATION_SEEDS))}:\n{parts}')
        print('\nBars, foresight against off:')
        for bar in bars(some):
            print(bar.line())
    if runs:
        print(f'\n{PAPER}\n')
    for bar in more:
        print(bar.line())
