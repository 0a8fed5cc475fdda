"""The lost-request test: run.py BIN --events N --seed S [--minutes M] [--keep DIR]

Real activators, an autoscaler and pods under mixed traffic and faults, until N scale events
(changes of a revision's replica count) have happened. Prints the account; exit status 0 when it
closes, 1 when it does not, 2 for wrong arguments. README.md tells how to read it.
"""

import argparse
import asyncio
import dataclasses
import json
import pathlib
import shutil
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
INTEGRATION = HERE.parent / 'integration'
sys.path[:0] = [str(HERE), str(INTEGRATION)]

import account  # noqa: E402
from faults import WANTED, Faults  # noqa: E402
from records import read_journal  # noqa: E402
from supervisor import Site  # noqa: E402
from traffic import PATIENCE, Traffic  # noqa: E402

PROGRAMS = ('activator', 'autoscaler', 'queue-proxy')
TELL_SECONDS = 15
ASLEEP_SECONDS = 60
END_SECONDS = 30
# Fewer answers than this would show a system that refuses, not one that serves.
ANSWERED_LEAST = 0.9


def count(text):
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def arguments(words):
    parser = argparse.ArgumentParser(prog='soak', description='the lost-request test')
    parser.add_argument('programs', metavar='BIN', type=pathlib.Path,
                        help='directory of activator, autoscaler and queue-proxy')
    parser.add_argument('--events', type=count, default=1000, help='scale events to see (1000)')
    parser.add_argument('--seed', type=int, required=True, help='the same seed, the same schedule')
    parser.add_argument('--minutes', type=float,
                        help='the longest it may take (2, and 1 more per 100 events)')
    parser.add_argument('--revisions', type=count, help='at once (24 to 60, by the events)')
    parser.add_argument('--clients', type=count, default=6, help='of one revision at most (6)')
    parser.add_argument('--keep', type=pathlib.Path, metavar='DIR',
                        help='put journal, records and logs here')
    given = parser.parse_args(words)
    given.app = given.programs.parent / 'tests' / 'soak_app'
    for program in (*(given.programs / name for name in PROGRAMS), given.app):
        if not program.is_file():
            parser.error(f'there is no {program}; build it')
    if given.keep and given.keep.exists() and any(given.keep.iterdir()):
        parser.error(f'{given.keep} is not empty')
    given.minutes = given.minutes or 2 + given.events / 100
    given.revisions = given.revisions or min(60, max(24, given.events // 10))
    return given


class Run:
    """One run, from the first process to the account."""

    def __init__(self, given, folder):
        self.given = given
        self.site = Site(given.programs.resolve(), given.app.resolve(), folder, given.seed,
                         given.revisions)
        self.traffic = Traffic(self.site, given.clients)
        self.faults = Faults(self.site, given.seed)
        self.began = time.monotonic()
        self.seconds = 0.0
        self.interrupted = False

    async def play(self):
        """Traffic and faults until enough was seen; then everything ends in order."""
        site = self.site
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.interrupt)
        try:
            await site.open()
            site.spawn(site.watch_surplus())
            asking = [site.spawn(self.traffic.play(one)) for one in site.by_name.values()]
            playing = self.faults.tasks()
            await self.until_seen(self.began + self.given.minutes * 60)
            self.faults.stopping = self.traffic.stopping = True
            await self.until_over([*asking, *playing])
            await self.until_asleep()
            await self.end_in_order()
        finally:
            self.traffic.close()
            await site.close()
            self.seconds = site.now() - self.began

    def interrupt(self):
        """An early end, with the account of what there was."""
        self.site.problem('interrupted')
        self.interrupted = True

    def seen_enough(self):
        return self.interrupted or self.site.event_count >= self.given.events and \
            all(self.site.faults[kind] for kind in WANTED)

    async def until_seen(self, deadline):
        told = self.site.now()
        while not self.seen_enough() and self.site.now() < deadline:
            await asyncio.sleep(0.1)
            if self.site.now() - told >= TELL_SECONDS:
                told = self.site.now()
                self.tell()

    def tell(self):
        pods = sum(len(revision.pods) for revision in self.site.by_name.values())
        print(f'  {self.site.now() - self.began:6.0f} s  {self.site.event_count} scale events, '
              f'{len(self.traffic.attempts)} requests, {pods} pods, '
              f'{sum(self.site.faults.values())} faults, {len(self.site.problems)} problems',
              flush=True)

    async def until_over(self, tasks):
        _, late = await asyncio.wait(tasks, timeout=PATIENCE + END_SECONDS)
        for task in late:
            task.cancel()
        if late:
            self.site.problem(f'{len(late)} tasks of the driver did not end')

    async def until_asleep(self):
        """With no traffic everything goes back to zero: nothing is counted that is over."""
        deadline = self.site.now() + ASLEEP_SECONDS
        awake = True
        while awake and self.site.now() < deadline:
            await asyncio.sleep(0.2)
            awake = [one for one in self.site.by_name.values() if one.replicas or one.pods]
        for revision in awake:
            self.site.problem(f'{revision.name} is still awake {ASLEEP_SECONDS} s after its last '
                              f'request: {revision.replicas} replicas, {len(revision.pods)} pods')

    async def end_in_order(self):
        site = self.site
        site.closing = True
        for who, child in [(door.name, door.child) for door in site.doors] + \
                [('the autoscaler', site.autoscaler)]:
            child.terminate()
            if not await child.end(END_SECONDS):
                site.problem(f'{who} did not end within {END_SECONDS} s')
            elif child.ended.result() != 0:
                site.problem(f'{who} ended with status {child.ended.result()}')

    def account(self):
        """The account, with what the driver itself found wrong."""
        for incident in self.site.incidents:
            incident.ended = min(incident.ended, self.began + self.seconds)
        lines = read_journal(self.site.journal.read_text(encoding='utf-8'))
        made = account.settle(self.traffic.attempts, lines, self.site.incidents)
        made.problems[:0] = self.site.problems
        if self.site.event_count < self.given.events:
            made.problem(f'{self.site.event_count} of {self.given.events} scale events in '
                         f'{self.given.minutes:g} minutes')
        for kind in WANTED:
            if not self.site.faults[kind]:
                made.problem(f'no {kind}: the run has not shown it')
        if made.entries['answered'] < ANSWERED_LEAST * made.entries['requests']:
            made.problem(f"{made.entries['answered']} answered of {made.entries['requests']}: "
                         'too few')
        return made

    def printed(self, made):
        site = self.site

        def listed(counts):
            return ', '.join(f'{number} {kind}' for kind, number in counts.most_common())
        return '\n'.join((
            f'scale events: {site.event_count} ({listed(site.events)}); '
            f'pods: {site.pods_started} started, {site.pods_stopped} drained',
            f'faults: {listed(site.faults)}',
            'requests, each accounted for at its client and at the application:',
            account.printed(made),
            f'seed {self.given.seed}, {self.given.revisions} revisions, {self.seconds:.0f} s'))

    def keep(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(self.site.folder, folder, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns('s'))
        kept = {'attempts': self.traffic.attempts, 'incidents': self.site.incidents}
        for name, records in kept.items():
            with open(folder / f'{name}.jsonl', 'w', encoding='utf-8') as file:
                for record in records:
                    file.write(json.dumps(dataclasses.asdict(record)) + '\n')


def main(words):
    given = arguments(words)
    with tempfile.TemporaryDirectory(prefix='soak-', ignore_cleanup_errors=True) as folder:
        print(f'soak: {given.events} scale events, seed {given.seed}, {given.revisions} revisions, '
              f'at most {given.minutes:g} minutes', flush=True)
        run = Run(given, pathlib.Path(folder))
        try:
            asyncio.run(run.play())
        except (RuntimeError, OSError) as error:
            run.site.problem(f'the run broke off: {error}')
        made = run.account()
        print(run.printed(made), flush=True)
        if given.keep:
            run.keep(given.keep)
    return 0 if made.closes else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
