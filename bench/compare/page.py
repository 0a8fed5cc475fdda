"""What the dashboard costs a browser: script per update and memory of a tab. No program of ours runs: the engine is the stand-in of
tests/browser.
"""

import dataclasses
import pathlib
import sys
import threading
import time
import typing

from peers import BenchError
from table import VALUE, Row

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / 'tests' / 'browser'))

import world  # noqa: E402
from driver import Browser, NoBrowser, WebDriverError  # noqa: E402
from fake_engine import FakeEngine  # noqa: E402

SCRIPT_SECONDS = 30
EVENT_SECONDS = 5
MINUTE = 60


@dataclasses.dataclass(frozen=True)
class Shown:
    """A page: its name, bar in ms, services, address, and what is there once it is loaded."""
    name: str
    bar: float
    services: typing.Callable
    address: str
    ready: str


PAGES = (Shown('a service', 4, world.shop, '#/s/default/shop', 'Why 7 now'),
         Shown('a fleet of 1,000, 100 awake', 8, world.thousand, '#/', 'all 1\u202f000'))
HEAP_BAR_MIB = 5
MIB = 1 << 20
TAKE = '''const seen = performance.getEntriesByName("update"); performance.clearMeasures("update"); return seen.map((each) => each.duration);'''


def missing():
    """Why there is no browser here; '' where there is one."""
    try:
        Browser().close()
    except (NoBrowser, OSError, WebDriverError) as reason:
        return str(reason)
    return ''


class Tab:
    """One page over the stand-in, in a browser of its own."""

    def __init__(self, shown):
        self.browser, self.engine = Browser(), FakeEngine(shown.services())
        try:
            self.browser.open(self.engine.url + shown.address)
            self.browser.wait_text(shown.ready, seconds=60)
        except BaseException:
            self.close()
            raise

    def close(self):
        self.browser.close()
        self.engine.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def all_script_ms(browser):
    """What the tab has spent in script since it was opened."""
    return next(each['value'] for each in browser.devtools('Performance.getMetrics')['metrics'] if each['name'] == 'ScriptDuration') * 1000


def script_of(tab):
    """Milliseconds per update: what the page measures of itself, in steps of a second or longer, and all script of the tab."""
    browser, tick, steps = tab.browser, threading.Event(), []
    browser.devtools('Performance.enable')
    browser.run(TAKE)
    before, first = all_script_ms(browser), tab.engine.number
    last, spent = first, 0
    for _ in range(SCRIPT_SECONDS):
        tick.wait(1)
        spent += sum(browser.run(TAKE))
        sent = tab.engine.number
        if sent > last:
            steps.append(spent / (sent - last))
            last, spent = sent, 0
    if len(steps) < SCRIPT_SECONDS / 3:
        raise BenchError(f'{last - first} updates of the page in {SCRIPT_SECONDS} s: this machine is too busy')
    return steps, (all_script_ms(browser) - before) / (last - first)


def script(_):
    """An update is a sample of a service or the rows of a fleet, with all that is drawn until the next one."""
    rows = []
    for shown in PAGES:
        with Tab(shown) as tab:
            steps, whole = script_of(tab)
        rows.append(Row('script', f'script per update: {shown.name}', 'ms', {VALUE: steps, 'with all other script of the tab': [whole]}, shown.bar, judged=VALUE))
    return rows


def heap_growth(tab, minutes):
    """Bytes of the heap at minute 1 and at the last one. Decisions go on all the time."""
    tick, number = threading.Event(), 0

    def live(seconds):
        nonlocal number
        for _ in range(int(seconds / EVENT_SECONDS)):
            tick.wait(EVENT_SECONDS)
            number += 1
            tab.engine.push('decision', service='shop', granted=4 + number % 4, mode='stable', revision='shop-00003', why=f'no. {number}')

    live(MINUTE)
    first = tab.browser.heap_bytes()
    live((minutes - 1) * MINUTE)
    return first, tab.browser.heap_bytes()


def heap(options):
    """The tabs one beside the other, since it takes long."""
    grown, problems = {}, []

    def watch(shown):
        try:
            with Tab(shown) as tab:
                grown[shown.name] = heap_growth(tab, options.minutes)
        except (AssertionError, OSError, NoBrowser, WebDriverError) as problem:
            problems.append(f'{shown.name}: {problem}')

    watchers = [threading.Thread(target=watch, args=(shown,), daemon=True) for shown in PAGES]
    for watcher in watchers:
        watcher.start()
    for watcher in watchers:
        watcher.join()
    if problems:
        raise BenchError('; '.join(problems))
    return [Row('heap', f'heap of the tab, minute {options.minutes} over 1: {name}', 'MiB',
                {'minute 1': [first / MIB], 'last minute': [last / MIB], VALUE: [(last - first) / MIB]}, HEAP_BAR_MIB, judged=VALUE)
            for name, (first, last) in grown.items()]
