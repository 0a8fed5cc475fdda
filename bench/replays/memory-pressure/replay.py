"""Kang and Yu's experiment at 1/64 scale on a real runtime: what throttling saves.

Prints the table of runs, the ablation, and the bars beside the paper's own numbers. A figure that is
short of its bar is a report and fails nothing. Behind `./dev bench memory-pressure`; method: README.md.
"""

import functools
import os
import pathlib
import platform
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / 'tests' / 'integration')]

from ledger import Ledger  # noqa: E402
from node_agent.lab import Lab, reason_against  # noqa: E402
from options import parser, problem_with  # noqa: E402
from plan import rounds, run_all  # noqa: E402
from verdict import judge, print_verdict  # noqa: E402
from workloads import CORES, JOBS, MIB, NODE_BYTES  # noqa: E402


def measured(options, ledger):
    """Adds the runs to the ledger; the bars of what was measured beside them."""
    # Only here: without Python's gRPC a wrong command line is still told as such.
    from costs import measured_costs
    from kills import measured_kills
    from other_work import OwnWork
    from runs import Stage, measured as measure, progress
    progress(f'{JOBS} jobs a run on a node of {NODE_BYTES // MIB} MiB and {CORES} of a core; Linux '
             f'{platform.release()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}')
    more = []
    with OwnWork() as own, Lab() as lab:
        stage = Stage(lab, own, options.build)
        if 'runs' in options.only:
            run_all(rounds(options), ledger, functools.partial(measure, stage), progress)
        if 'costs' in options.only:
            more += measured_costs(stage)
        if 'kills' in options.only:
            more += measured_kills(stage, options.kills)
    return more


def main():
    options = parser().parse_args()
    problem = problem_with(options) or ('' if options.check else reason_against())
    if problem:
        print(f'memory-pressure: {problem}', file=sys.stderr)
        return 2
    if options.check:
        return 0
    ledger = Ledger(options.json, judge)
    more = measured(options, ledger)
    print_verdict(ledger.all(), more)
    return 0


if __name__ == '__main__':
    sys.exit(main())
