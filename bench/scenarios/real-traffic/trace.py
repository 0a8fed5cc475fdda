"""Writes trace.csv: an hour of forty functions with counts by the minute. Same bytes each time."""

import pathlib
import random

MINUTES = 60
FUNCTIONS = 40
# Share of the functions, and calls a minute of each.
KINDS = ((0.05, 50), (0.15, 15), (0.3, 4), (0.5, 0.5))


def rate_of(function):
    share = (function + 0.5) / FUNCTIONS
    for part, rate in KINDS:
        if share < part:
            return rate
        share -= part
    return 0


def count(dice, mean):
    """A number of calls with this mean, as independent callers make them."""
    calls, left = 0, dice.expovariate(1)
    while left < mean:
        calls, left = calls + 1, left + dice.expovariate(1)
    return calls


def minutes_of(function):
    dice = random.Random(function)
    rate = rate_of(function)
    if function % 5 == 4:   # by the clock
        every = dice.choice((1, 5, 10, 15, 30))
        return [max(1, round(rate * every)) if minute % every == 0 else 0 for minute in range(MINUTES)]
    peak = dice.randrange(MINUTES)
    return [count(dice, rate * (3 if abs(minute - peak) < 4 else 0.8)) for minute in range(MINUTES)]


def main():
    lines = ['HashOwner,HashApp,HashFunction,Trigger,' + ','.join(map(str, range(1, MINUTES + 1)))]
    lines += [f'o{function % 7},a{function % 13},f{function},http,' + ','.join(map(str, minutes_of(function)))
              for function in range(FUNCTIONS)]
    (pathlib.Path(__file__).resolve().parent / 'trace.csv').write_text('\n'.join(lines) + '\n')


if __name__ == '__main__':
    main()
