"""How soon the agent acted on containers that had just begun, and what they held meanwhile."""

import datetime

from verdict import quantile

ID_SHOWN = 12             # of a container's id, where the agent's log has not all of it
AT_BIRTH_SECONDS = 0.2    # a hold that comes later was decided for another reason
MOVED_OVER_SECONDS = 1    # a shorter hold says nothing of a rate
MIB = 1 << 20


def is_done(event, message):
    return event['message'] == message and event.get('outcome') == 'ok'


def seconds_of(event):
    """Its time, in seconds of the epoch as the jobs print them."""
    return datetime.datetime.fromisoformat(event['timestamp'].replace('Z', '+00:00')).timestamp()


def first_times(events):
    """{start of an id: when the first of the events about it was}"""
    found = {}
    for event in events:
        found.setdefault(event['id'][:ID_SHOWN], seconds_of(event))
    return found


def delays(begun, times):
    """{container: seconds from its begin}; `begun` is {container: when, by the program's own clock}."""
    return {one: times[one[:ID_SHOWN]] - at for one, at in begun.items() if one[:ID_SHOWN] in times}


def seen(begun, events):
    """The delays until the agent had seen a container begin."""
    return delays(begun, first_times(event for event in events if event['message'] == 'container began'))


def held_at_birth(begun, events):
    """The delays until its first hold was in force, of the containers that were held at birth."""
    holds = first_times(event for event in events if is_done(event, 'freeze') or is_done(event, 'throttle'))
    return {one: delay for one, delay in delays(begun, holds).items() if delay < AT_BIRTH_SECONDS}


def p99(values, scale=1.0):
    """None of nothing."""
    values = list(values)
    return round(quantile(values, 0.99) * scale, 2) if values else None


class HeldMemory:
    """What frozen containers hold, by the kernel: when first seen so, and how it moves from there."""

    def __init__(self):
        self.first = {}        # {container: bytes when it was first seen frozen}
        self.since = {}        # {container: (when, bytes)} of those that are frozen now
        self.rate_max = None   # bytes per second, in either direction

    def look(self, frozen, now):
        """`frozen`: {container: bytes} of all that are frozen now."""
        self.since = {one: self.since.get(one, (now, held)) for one, held in frozen.items()}
        for one, held in frozen.items():
            self.first.setdefault(one, held)
            then, before = self.since[one]
            if now - then >= MOVED_OVER_SECONDS:
                self.rate_max = max(self.rate_max or 0.0, abs(held - before) / (now - then))
