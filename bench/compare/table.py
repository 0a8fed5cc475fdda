"""Figures beside their bars: one row each, printed as a table and written as JSON."""

import dataclasses
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess

from peers import OURS, program

SCHEMA = 1
VALUE = 'value'  # the figure of a row that has no peer


@dataclasses.dataclass
class Row:
    """One thing measured. `figures` holds every round of every peer, in the same order of rounds.

    `bar` is the largest figure of `judged` that is ok; with `against`, the largest median of the
    per-round ratios of ours to that peer. Without a bar the row is only shown.
    """
    scenario: str
    what: str
    unit: str
    figures: dict
    bar: float | None = None
    against: str | None = None
    strict: bool = False
    judged: str = OURS

    def median(self, name):
        return statistics.median(self.figures[name])

    def ratios(self):
        """Ours to the peer it is held against, round by round."""
        if self.against is None:
            return []
        return [ours / theirs for ours, theirs in
                zip(self.figures[OURS], self.figures[self.against]) if theirs]

    def verdict(self):
        if self.bar is None:
            return ''
        reached = statistics.median(self.ratios()) if self.against else self.median(self.judged)
        # As printed: a bar of 1.0 is not missed by a thousandth, which cannot be measured.
        reached = round(reached, 2) if self.against else reached
        return 'ok' if (reached < self.bar if self.strict else reached <= self.bar) else 'short'

    def bar_text(self):
        if self.bar is None:
            return ''
        sign = '<' if self.strict else '<='
        return f'{sign} {self.bar:g} x {self.against}' if self.against else \
            f'{sign} {self.bar:g} {self.unit}'

    def ratio_text(self):
        ratios = self.ratios()
        if not ratios:
            return ''
        spread = f' ({min(ratios):.2f}-{max(ratios):.2f})' if len(ratios) > 1 else ''
        return f'{statistics.median(ratios):.2f}{spread}'

    def as_json(self):
        ratios = self.ratios()
        return {
            'scenario': self.scenario, 'what': self.what, 'unit': self.unit, 'bar': self.bar,
            'relation': '<' if self.strict else '<=', 'against': self.against,
            'verdict': self.verdict() or None,
            'ratio': statistics.median(ratios) if ratios else None, 'ratios': ratios,
            'peers': {name: {'median': self.median(name), 'rounds': rounds}
                      for name, rounds in self.figures.items()},
        }


def shown(value):
    return f'{value:.0f}' if value >= 1000 else f'{value:.3g}' if value < 1 else f'{value:.1f}'


def print_table(rows):
    """One line per row, a column per peer; a peer that a row does not know shows as a dash."""
    names = []
    for row in rows:
        names += [name for name in row.figures if name not in names]
    lines = [['what', '', *names, 'ratio (rounds)', 'bar', '']]
    for row in rows:
        figures = [shown(row.median(name)) if name in row.figures else '-' for name in names]
        lines.append([row.what, row.unit, *figures, row.ratio_text(), row.bar_text(), row.verdict()])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        cells = [cell.rjust(width) if 2 <= column < 2 + len(names) else cell.ljust(width)
                 for column, (cell, width) in enumerate(zip(line, widths))]
        print('  '.join(cells).rstrip())


def print_shortfalls(rows):
    verdicts = [row.verdict() for row in rows if row.verdict()]
    missed = [row.what for row in rows if row.verdict() == 'short']
    if missed:
        print(f'\n{len(missed)} of {len(verdicts)} bars SHORT: {"; ".join(missed)}')
    elif verdicts:
        print(f'\nall {len(verdicts)} bars ok')


def first_line(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return ((done.stdout or done.stderr).strip().splitlines() or ['?'])[0].strip()


def machine():
    """Where the figures were taken, and with which programs."""
    return {**place(), 'versions': {
        'nginx': first_line([program('nginx'), '-v']).removeprefix('nginx version: '),
        'haproxy': first_line([program('haproxy'), '-v']).removesuffix(' - https://haproxy.org/'),
        'nghttpx': first_line([program('nghttpx'), '--version']),
        'h2load': first_line([program('h2load'), '--version']),
        'wrk': first_line([program('wrk'), '-v']).split(' [')[0],
    }}


def place():
    """Where the figures were taken."""
    cpu = re.search(r'model name\s*:\s*(.*)', pathlib.Path('/proc/cpuinfo').read_text())
    commit = first_line(['git', '-C', pathlib.Path(__file__).parent, 'describe', '--always', '--dirty',
                         '--exclude=*'])
    return {
        'cores': len(os.sched_getaffinity(0)), 'cpu': cpu.group(1) if cpu else platform.machine(),
        'kernel': platform.release(), 'commit': commit, 'load_average': os.getloadavg()[0],
    }


def print_machine(here):
    print(f'{here["cores"]} cores of {here["cpu"]}, Linux {here["kernel"]}, commit {here["commit"]}, '
          f'load average before {here["load_average"]:.1f}')
    if 'versions' in here:
        print(', '.join(here['versions'].values()))


def write_json(path, rows, here, method):
    text = json.dumps({'schema': SCHEMA, 'machine': here, 'method': method,
                       'rows': [row.as_json() for row in rows]}, indent=1)
    path.write_text(text + '\n')
