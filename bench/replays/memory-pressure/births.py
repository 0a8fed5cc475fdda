"""How soon the agent acted on a container that had just begun."""

import datetime

from verdict import quantile

ID_SHOWN = 12  # of a container's id, in the agent's log
BIRTH_SECONDS = 2  # a hold later than that was none at birth


def is_done(event, message):
    return event['message'] == message and event.get('outcome') == 'ok'


def seconds_of(event):
    """Its time, in seconds of the epoch as the jobs print them."""
    return datetime.datetime.fromisoformat(event['timestamp'].replace('Z', '+00:00')).timestamp()


def births_seen_ms_p99(begun, events):
    """From the first line of a program to its first hold, of those that were held at birth; None: none was.
    `begun`: {container: when, by the program's own clock}."""
    held = {}
    for event in events:
        if is_done(event, 'freeze') or is_done(event, 'throttle'):
            held.setdefault(event['id'], seconds_of(event))
    waited = [held[one[:ID_SHOWN]] - at for one, at in begun.items() if one[:ID_SHOWN] in held]
    waited = [seconds for seconds in waited if seconds < BIRTH_SECONDS]
    return round(quantile(waited, 0.99) * 1000, 1) if waited else None
