"""How soon the agent acted on containers that had just begun, and what they held meanwhile."""

import datetime

from verdict import quantile

ID_SHOWN = 12             # of a container's id, where the agent's log has not all of it
AT_BIRTH = ('at its birth', 'not described yet')   # how the reasons of such holds begin
# The kernel charges in batches of some 100 KiB, and gives back what was charged ahead soon after a hold begins: in a
# shorter hold, and before that, they would look like growth.
MOVED_OVER_SECONDS, SETTLES_SECONDS = 3, 0.5


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
    """{container: seconds from its begin}; `begun` is {container: when, by the program's own clock}. One that
    was frozen before it could read its clock was seen at once."""
    return {one: max(0.0, times[one[:ID_SHOWN]] - at) for one, at in begun.items() if one[:ID_SHOWN] in times}


def seen(begun, events):
    """The delays until the agent had seen a container begin."""
    return delays(begun, first_times(event for event in events if event['message'] == 'container began'))


def held_at_birth(begun, events):
    """The delays until its first hold was in force, of the containers that were held at birth."""
    holds = first_times(event for event in events if is_done(event, 'freeze') or is_done(event, 'throttle'))
    at_birth = {event['id'][:ID_SHOWN] for event in events
                if event['message'] in ('freeze', 'throttle') and event['why'].startswith(AT_BIRTH)}
    return {one: delay for one, delay in delays(begun, holds).items() if one[:ID_SHOWN] in at_birth}


def p99(values, scale=1.0):
    """None of nothing."""
    values = list(values)
    return round(quantile(values, 0.99) * scale, 2) if values else None


def holds(events):
    """{start of an id: [(when it was frozen, when thawed)]}"""
    found = {}
    for event in events:
        own = found.setdefault(event['id'][:ID_SHOWN], []) if 'id' in event else None
        if is_done(event, 'freeze'):
            own.append((seconds_of(event), float('inf')))
        elif is_done(event, 'thaw') and own:
            own[-1] = (own[-1][0], seconds_of(event))
    return found


def memory_in_holds(samples, events):
    """{start of an id: [(when, bytes)] of each hold in turn}; `samples`: {container: [(when, bytes)]}, taken
    while it was frozen. A hold may be too short to have any."""
    times = holds(events)
    return {one[:ID_SHOWN]: [[sample for sample in taken if begin <= sample[0] < end]
                             for begin, end in times.get(one[:ID_SHOWN], ())]
            for one, taken in samples.items()}


def bytes_at_birth(held, in_holds):
    """What the containers of `held` had in their first hold, of those that were seen then."""
    first = {one: in_holds.get(one[:ID_SHOWN]) for one in held}
    return [taken[0][0][1] for taken in first.values() if taken and taken[0]]


def rate_max(in_holds):
    """Bytes per second by which memory moved at most, up or down, in one hold; None: none was long enough."""
    settled = ([sample for sample in taken if sample[0] >= taken[0][0] + SETTLES_SECONDS]
               for each in in_holds.values() for taken in each)
    rates = [abs(taken[-1][1] - taken[0][1]) / (taken[-1][0] - taken[0][0])
             for taken in settled if taken and taken[-1][0] - taken[0][0] >= MOVED_OVER_SECONDS]
    return max(rates, default=None)
