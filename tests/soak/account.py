"""The account of a run. Pure: records in, entries and problems out; every attempt is entered once.

The rules are those of the activator's promise: an answer is the request's own and the only one; a
refusal says its cause and nothing ran; what broke ran on a pod that was killed at that time, or met
one; nothing is silent, nothing begins twice, and no application runs more than it allows.
"""

import collections
import dataclasses

from records import (ABORTED, ANSWERED, CLOSED, LEFT, REFUSED, SILENT, UNTAKEN, WRONG, Attempt,
                     Incident, Line)

CAUSES = frozenset(('queue-full', 'queue-wait', 'timeout', 'cannot-scale', 'start-failed',
                    'draining', 'not-ready', 'throttled', 'upstream', 'asleep', 'no-route',
                    'bad-request', 'too-large'))
# Clocks are one, but a line is written a moment before or after its event, on a busy machine.
SLACK = 0.25
# A kill is visible at once to a client with a connection to the pod; this covers a busy machine.
VISIBLE = 5.0
# How long a client may still reach a pod that is gone, until all activators have the new list.
HEARD = 3.0
PROBLEMS_SHOWN = 20


@dataclasses.dataclass
class Account:
    entries: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    refusals: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    kills: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    turned_away: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    problems: list = dataclasses.field(default_factory=list)

    @property
    def closes(self):
        return not self.problems

    def problem(self, what, attempt=None, detail=''):
        told = what if attempt is None else f'{what}: {describe(attempt)}'
        self.problems.append(f'{told} {detail}'.rstrip())


def describe(attempt):
    parts = [attempt.id, attempt.kind, attempt.revision, f'at {attempt.door}',
             f'sent {attempt.sent:.3f} ended {attempt.ended:.3f}', attempt.outcome]
    if attempt.status:
        parts.append(f'{attempt.status} {attempt.cause}'.rstrip())
    if attempt.pod:
        parts.append(f'from {attempt.pod}')
    if attempt.note:
        parts.append(f'({attempt.note})')
    return ' '.join(parts)


class Settling:
    """Draws up one account."""

    def __init__(self, attempts, lines, incidents):
        self.attempts = attempts
        self.account = Account()
        self.begun = collections.defaultdict(list)
        self.ended = set()
        self.of_subject = collections.defaultdict(list)       # incidents, of activators too
        self.of_revision = collections.defaultdict(list)
        for incident in incidents:
            self.of_subject[incident.subject].append(incident)
            self.of_revision[incident.revision].append(incident)
        for line in lines:
            self.take(line)

    def take(self, line):
        if line.what == 'B':
            self.begun[line.id].append(line)
        elif line.what == 'E':
            self.ended.add(line.id)
        elif line.what == 'X':
            self.account.problem(f'containerConcurrency exceeded: {line.running} ran on {line.pod} '
                                 f'at {line.at:.3f}, the newest {line.id}')
        elif line.what == 'M':
            self.account.problem(f'a body of another: {line.id} on {line.pod} at {line.at:.3f}')

    def settle(self):
        known = set()
        requests = collections.defaultdict(list)
        for attempt in self.attempts:
            if attempt.id in known:
                self.account.problem('one id sent twice', attempt)
            known.add(attempt.id)
            requests[attempt.request].append(attempt)
        for name, lines in self.begun.items():
            if name not in known:
                self.account.problem(f'{name} began on {lines[0].pod}, but no request was sent')
        for sent in requests.values():
            self.request(sent)
        return self.account

    def request(self, attempts):
        begun = [line for attempt in attempts for line in self.begun.get(attempt.id, ())]
        if len(begun) > 1:
            self.account.problem('begun twice', attempts[-1],
                                 'on ' + ', '.join(f'{one.pod} at {one.at:.3f}' for one in begun))
        for attempt in attempts:
            entry = self.enter(attempt, self.begun.get(attempt.id, []))
            self.account.entries[entry] += 1
        self.account.entries['requests'] += 1
        if attempts[-1].outcome == UNTAKEN:
            self.account.problem('lost: no door took it and it went nowhere else', attempts[-1])

    def enter(self, attempt, begun):
        """The entry of one attempt; a problem is noted beside it."""
        enter = {ANSWERED: self.answered, REFUSED: self.refused, ABORTED: self.broken,
                 UNTAKEN: self.untaken, CLOSED: self.closed, LEFT: self.left}.get(attempt.outcome)
        if enter is not None:
            return enter(attempt, begun)
        if attempt.outcome == SILENT:
            self.account.problem('lost: no answer', attempt, where(begun))
            return 'lost'
        self.account.problem("not its own answer" if attempt.outcome == WRONG
                             else f'no such outcome as {attempt.outcome}', attempt, where(begun))
        return 'wrong'

    def answered(self, attempt, begun):
        if not begun:
            self.account.problem('answered, but it never began', attempt)
        elif attempt.pod != begun[0].pod:
            self.account.problem('answered by another pod', attempt, where(begun))
        elif attempt.id not in self.ended:
            self.account.problem('answered, but it never ended', attempt, where(begun))
        return 'answered'

    def refused(self, attempt, begun):
        if attempt.status == 502:
            return self.broken(attempt, begun)
        if attempt.status not in (503, 504):
            self.account.problem('an undocumented status', attempt)
        elif attempt.cause not in CAUSES:
            self.account.problem('a refusal without a documented cause', attempt)
        elif attempt.status == 503 and begun:
            self.account.problem('refused although it had begun', attempt, where(begun))
        self.account.refusals[f'{attempt.status} {attempt.cause}'] += 1
        return 'refused'

    def broken(self, attempt, begun):
        """A 502 or a cut: there is a kill that explains it, or it is a problem."""
        kill = self.kill_for(attempt, begun)
        if kill is None:
            what = '502' if attempt.status == 502 else 'cut'
            self.account.problem(f'an unexplained {what}', attempt, where(begun))
            return 'unexplained'
        self.account.kills[f'{kill.kind} {kill.subject}'] += 1
        return 'broken by a kill, having begun' if begun else 'broken by a kill, not begun'

    def kill_for(self, attempt, begun):
        if begun:
            for kill in self.of_subject[begun[0].pod]:
                if kill.kind.endswith('killed') and begun[0].at <= kill.ended + SLACK and \
                        kill.began - SLACK <= attempt.ended <= kill.ended + VISIBLE:
                    return kill
            return None
        for kill in self.of_revision[attempt.revision]:
            if kill.kind.endswith('killed') and attempt.sent <= kill.ended + HEARD and \
                    kill.began - SLACK <= attempt.ended <= kill.ended + HEARD + VISIBLE:
                return kill
        return None

    def untaken(self, attempt, begun):
        """It was not taken, because its activator was going."""
        if begun:
            self.account.problem('said to be untaken, but it began', attempt, where(begun))
        if not any(drain.began - SLACK <= attempt.ended <= drain.ended + HEARD
                   for drain in self.of_subject[attempt.door]):
            self.account.problem('not taken, but its activator was not going', attempt)
        self.account.turned_away[attempt.note.split(':')[0]] += 1
        return 'not taken by an activator that was going, sent elsewhere'

    def closed(self, attempt, begun):
        """Closed with 1001: its pod or its activator drained, or its pod was killed then."""
        pods = self.of_subject[begun[0].pod] if begun else []
        for drain in [*pods, *self.of_subject[attempt.door]]:
            if drain.kind.endswith(('drained', 'killed')) and \
                    drain.began - SLACK <= attempt.ended <= drain.ended + VISIBLE:
                return 'WebSocket closed by a drain'
        self.account.problem('closed with 1001, but nothing drained', attempt, where(begun))
        return 'unexplained'

    @staticmethod
    def left(_attempt, _begun):
        return 'client left'


def where(begun):
    return ' '.join(f'[began on {line.pod} at {line.at:.3f}]' for line in begun) or '[never began]'


def settle(attempts, lines, incidents):
    """The account of `attempts`, journal `lines` and `incidents`."""
    return Settling(attempts, lines, incidents).settle()


def printed(account):
    """The account as a person reads it."""
    told = [f'  {count:8d}  {entry}' for entry, count in sorted(account.entries.items(),
                                                                key=lambda one: -one[1])]
    if account.refusals:
        told.append('  refused: ' + ', '.join(
            f'{count} x {what}' for what, count in account.refusals.most_common()))
    if account.turned_away:
        told.append('  not taken: ' + ', '.join(
            f'{count} x {what}' for what, count in account.turned_away.most_common()))
    if account.kills:
        told.append(f'  broken by {len(account.kills)} kills, each matched by pod and time')
    for problem in account.problems[:PROBLEMS_SHOWN]:
        told.append(f'  PROBLEM: {problem}')
    if len(account.problems) > PROBLEMS_SHOWN:
        told.append(f'  ... and {len(account.problems) - PROBLEMS_SHOWN} problems more')
    told.append('  the account closes' if account.closes
                else f'  THE ACCOUNT DOES NOT CLOSE: {len(account.problems)} problems')
    return '\n'.join(told)


__all__ = ['Account', 'Attempt', 'Incident', 'Line', 'settle', 'printed']
