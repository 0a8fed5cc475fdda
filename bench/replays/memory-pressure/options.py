"""What the command line asks for, and what is wrong with it: said before minutes of building and measuring."""

import argparse
import os
import pathlib

import ledger
from policies import NODE_AGENT, PAPER_AGENT, POLICIES
from workloads import AT_ONCE, JOB_MIB, MIB, NODE_BYTES, STARTS, WORKLOADS

PARTS = ('runs', 'costs', 'kills')
LIMIT_FACTORS = range(1, NODE_BYTES // (JOB_MIB * MIB) + 1)   # up to the node
SEEDS = range(1, 1000)
KILLS = range(1, 101)


def whole_number(text):
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number")
    return int(text)


def shown(allowed):
    if isinstance(allowed, range):
        return f'{allowed[0]} to {allowed[-1]}'
    return ', '.join(map(str, allowed))


def one_of(kind, allowed):
    """One value as an option."""
    def parse(text):
        value = kind(text)
        if value not in allowed:
            raise argparse.ArgumentTypeError(f"'{text}' is not among the values: {shown(allowed)}")
        return value
    return parse


def listed(kind, allowed):
    """A comma-separated list as an option, without repetition."""
    def parse(text):
        values = [one_of(kind, allowed)(word) for word in text.split(',')]
        twice = [value for at, value in enumerate(values) if value in values[:at]]
        if twice:
            raise argparse.ArgumentTypeError(f"'{twice[0]}' is given twice in '{text}'")
        return values
    return parse


def parser():
    made = argparse.ArgumentParser(
        prog='./dev bench memory-pressure', allow_abbrev=False,
        description="Kang and Yu's experiment at 1/64 scale on a real containerd: what throttling saves")
    add = made.add_argument
    add('--build', metavar='FOLDER', type=pathlib.Path, help='with the built agents; without it only `off` can run')
    add('--starts', type=one_of(str, STARTS), default='theirs', metavar='|'.join(STARTS),
        help='who starts the jobs: theirs never asks the agent, ours waits at its gate (theirs)')
    add('--workload', type=listed(str, WORKLOADS), default=list(WORKLOADS), metavar=','.join(WORKLOADS))
    add('--policies', type=listed(str, POLICIES), default=['off', 'paper', 'foresight'], metavar=','.join(POLICIES),
        help='which rules (off,paper,foresight)')
    add('--overcommit', type=listed(whole_number, AT_ONCE), default=list(AT_ONCE),
        metavar=','.join(map(str, AT_ONCE)), help='in percent')
    add('--limit-factor', type=listed(whole_number, LIMIT_FACTORS), default=[1], metavar='1,2,4',
        help='limits of the containers, as multiples of what a job uses (1)')
    add('--seeds', type=listed(whole_number, SEEDS), default=[1, 2, 3, 4, 5], metavar='1,2,3,4,5')
    add('--only', type=listed(str, PARTS), default=list(PARTS), metavar=','.join(PARTS),
        help='runs: the experiment; costs: reaction, CPU, memory; kills: SIGKILLs')
    add('--kills', type=one_of(whole_number, KILLS), default=20, metavar='N',
        help='SIGKILLs of the agent, half never restarted (20)')
    add('--json', type=pathlib.Path, metavar='FILE',
        help='the runs as a list, written after each; what is in it already is not run again')
    add('--check', action='store_true', help='only tell what is wrong with the command line')
    return made


def problem_with(options):
    """What is wrong with values that can only be judged together, or by the disk; empty: nothing."""
    needs_agent = options.only != ['runs'] or any(POLICIES[name].has_agent() for name in options.policies)
    if needs_agent and not options.build:
        return '--build names the folder of the agents; without it: --only runs --policies off'
    for program in (NODE_AGENT, PAPER_AGENT) if options.build and not options.check else ():
        if not os.access(options.build / program, os.X_OK):
            return f'--build {options.build}: there is no program {program}; build it first'
    return problem_with_file(options.json) if options.json else ''


def problem_with_file(path):
    if path.is_dir():
        return f'--json {path} is a folder; name a file'
    if not os.access(path.parent, os.W_OK):
        return f'--json {path}: the folder {path.parent} is missing or cannot be written'
    try:
        ledger.read(path)
    except (OSError, ledger.Unreadable) as problem:
        return str(problem)
    return ''
