"""What requests and rounds come to: figures beside their bars."""

import collections
import dataclasses
import math
import statistics

P99_BAR = 2.0        # during the moves, in steady ones
DURATION_BAR = 1.5   # of the most services that move, in that of one
LATE_MS = 10         # of the sender


@dataclasses.dataclass(frozen=True)
class Request:
    service: str
    number: str
    planned: float
    sent: float
    over: float
    outcome: str       # `ok`, or what came instead of the answer

    @classmethod
    def of(cls, line):
        service, number, planned, sent, over, outcome = line.rstrip('\n').split(' ', 5)
        return cls(service, number, float(planned), float(sent), float(over), outcome)

    @property
    def name(self):
        return f'{self.service} {self.number}'


@dataclasses.dataclass(frozen=True)
class Round:
    """What one arrival did: times of the monotonic clock, and of moves in seconds."""

    moved: tuple       # names of services
    begun: float       # the arriving service was told to the engine
    over: float        # its last move was
    admitted: float    # its replica was ready
    move_seconds: float


@dataclasses.dataclass(frozen=True)
class Row:
    what: str
    value: str
    bar: str = ''
    met: bool = True
    fails: bool = False   # the replay, when it is not met


def p99_ms(requests):
    """From the planned time on; None without an answer."""
    took = sorted((each.over - each.planned) * 1000 for each in requests if each.outcome == 'ok')
    return took[math.ceil(len(took) * 0.99) - 1] if took else None


def between(requests, begun, over, services):
    return [each for each in requests if begun <= each.planned < over and each.service in services]


def none_of(what, count):
    return Row(what, str(count), '<= 0', count == 0, fails=True)


def at_most(what, value, bar):
    # As printed: a bar is not missed by a thousandth that cannot be measured.
    return Row(what, f'{value:.2f}', f'<= {bar:.2f}', round(value, 2) <= bar)


def accounts(requests, written, cut_by_engine):
    """Rows, and the requests that did not end well. `written`: how often the applications wrote each request down, by
    its name; `cut_by_engine`: what the engine counts as cut."""
    lost = [each for each in requests if each.name not in written]
    cut = [each for each in requests if each.name in written and each.outcome != 'ok']
    twice = sum(1 for times in written.values() if times > 1)
    return [none_of('requests lost', len(lost)), none_of('requests delivered twice', twice),
            none_of('requests cut', max(len(cut), cut_by_engine))], lost + cut


def by_moves(rounds):
    """Rounds by how many services moved."""
    groups = collections.defaultdict(list)
    for each in rounds:
        groups[len(each.moved)].append(each)
    return dict(sorted(groups.items()))


def durations(rounds):
    medians = {count: statistics.median(each.move_seconds for each in group)
               for count, group in by_moves(rounds).items()}
    rows = [Row(f'seconds of the moves, {count} of 5 services', f'{median:.2f}') for count, median in medians.items()]
    least, most = min(medians), max(medians)
    if least != most:
        rows.append(at_most(f'moves of {most} / of {least}', medians[most] / medians[least], DURATION_BAR))
    return rows + [Row(f'seconds from arrival to ready, {count} moved',
                       f'{statistics.median(each.admitted - each.begun for each in group):.2f}')
                   for count, group in by_moves(rounds).items()]


def latencies(requests, rounds, steady):
    calm = p99_ms(steady)
    during = [p99_ms(between(requests, each.begun, each.over, each.moved)) for each in rounds]
    if calm is None or None in during:
        return [Row('p99 during / steady', 'no answers', f'<= {P99_BAR:.2f}', False)]
    return [Row('p99 ms, steady', f'{calm:.2f}'),
            Row('p99 ms during the moves, median of rounds', f'{statistics.median(during):.2f}'),
            at_most('p99 during / steady', statistics.median(each / calm for each in during), P99_BAR)]


def lag_ms(requests):
    """How late the sender sends, 99th percentile; a connection that is opened counts."""
    lags = sorted((each.sent - each.planned) * 1000 for each in requests if each.sent)
    return lags[math.ceil(len(lags) * 0.99) - 1] if lags else math.inf


def print_report(title, notes, rows):
    print(title)
    for note in notes:
        print(f'  {note}')
    width = max(len(row.what) for row in rows)
    for row in rows:
        told = '' if not row.bar else 'ok' if row.met else 'short'
        print(f'  {row.what:<{width}}  {row.value:>8}  {row.bar:<9}  {told}'.rstrip())
    print(flush=True)
