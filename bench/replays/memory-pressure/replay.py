"""Kang and Yu's experiment at 1/64 scale on a real runtime: what throttling saves, and what a gate does.

Prints the table of runs, the ablation, and the bars beside the paper's own numbers. A figure that is
short of its bar is a report and fails nothing. Behind `./dev bench memory-pressure`; method: README.md.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import platform
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / 'tests' / 'integration')]

from costs import measured_costs  # noqa: E402
from jobs import AT_ONCE, CORES, JOBS, NODE_BYTES  # noqa: E402
from kills import measured_kills  # noqa: E402
from node_agent.lab import Lab, reason_against  # noqa: E402
from policies import NODE_AGENT, PAPER_AGENT, POLICIES  # noqa: E402
from runs import Stage, progress, run_all  # noqa: E402
from verdict import print_verdict  # noqa: E402

PARTS = ('runs', 'costs', 'kills')


def listed(kind, allowed=None):
    """A comma-separated list as an option."""
    def parse(text):
        values = [kind(word) for word in text.split(',')]
        wrong = [value for value in values if allowed and value not in allowed]
        if wrong:
            raise argparse.ArgumentTypeError(f'{wrong[0]}; there are: {", ".join(map(str, allowed))}')
        return values
    return parse


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--build', metavar='FOLDER', type=pathlib.Path,
                        help='with the built agents; without it only `off` can run')
    parser.add_argument('--seeds', type=listed(int), default=[1, 2, 3], metavar='1,2,3')
    parser.add_argument('--overcommit', type=listed(int, AT_ONCE), default=list(AT_ONCE),
                        metavar='110,125,137,150')
    parser.add_argument('--policies', type=listed(str, POLICIES), default=list(POLICIES),
                        metavar=','.join(POLICIES))
    parser.add_argument('--only', type=listed(str, PARTS), default=list(PARTS), metavar=','.join(PARTS),
                        help='runs: the experiment; costs: reaction, CPU, memory; kills: SIGKILLs')
    parser.add_argument('--kills', type=int, default=20, help='SIGKILLs of the agent, half never restarted')
    parser.add_argument('--hold', type=float, default=5, metavar='SECONDS',
                        help='for which a grant counts beside what the agent sees')
    parser.add_argument('--json', type=pathlib.Path, metavar='FILE', help='the runs as a list')
    return parser.parse_args()


def problem_with(options):
    """Says what is wrong before minutes of measuring, not after."""
    needs_agent = options.only != ['runs'] or any(POLICIES[name].flags is not None
                                                  for name in options.policies)
    if needs_agent and not options.build:
        return '--build names the folder of the agents; without it: --only runs --policies off'
    for program in (NODE_AGENT, PAPER_AGENT) if options.build else ():
        if not os.access(options.build / program, os.X_OK):
            return f'{options.build / program} is no program; build it first'
    if options.json and not os.access(options.json if options.json.exists() else options.json.parent,
                                      os.W_OK):
        return f'--json {options.json} cannot be written'
    return ''


def measured(options):
    """(runs, bars of what was measured beside them)."""
    with Lab() as lab:
        stage = Stage(lab, options.build, options.hold)
        runs, more = [], []
        if 'runs' in options.only:
            runs = run_all(stage, options.overcommit, options.policies, options.seeds)
            if options.json:  # at once: what comes after may fail
                options.json.write_text(
                    json.dumps([dataclasses.asdict(run) for run in runs], indent=1) + '\n')
        if 'costs' in options.only:
            more += measured_costs(stage)
        if 'kills' in options.only:
            more += measured_kills(stage, options.kills)
    return runs, more


def main():
    options = parsed()
    problem = problem_with(options) or reason_against()
    if problem:
        print(f'memory-pressure: {problem}', file=sys.stderr)
        return 2
    progress(f'{JOBS} jobs a run on a node of {NODE_BYTES >> 20} MiB and {CORES} of a core; Linux '
             f'{platform.release()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}')
    runs, more = measured(options)
    print_verdict(runs, more)
    return 0


if __name__ == '__main__':
    sys.exit(main())
