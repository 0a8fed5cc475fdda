"""What the dashboard costs a browser: script per update and memory of a tab, beside their bars. No program of ours runs: the engine
is the stand-in of tests/browser.

Prints a line per figure; exit status 1 when one is above its bar.
"""

import pathlib
import statistics
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'tests' / 'browser'))

import world  # noqa: E402
from driver import Browser, NoBrowser  # noqa: E402
from fake_engine import FakeEngine  # noqa: E402

UPDATES = 100
HEAP_SECONDS = 60
# (name, bar in ms, services, address, what is there once it is loaded)
PAGES = (('service, four samples a second', 4, world.shop, '#/s/default/shop', 'Why 7 now'), ('fleet of 1,000, 100 awake', 8, world.thousand, '#/', 'all 1\u202f000'))
HEAP_BAR_MIB = 5
TAKE = '''const seen = performance.getEntriesByName("update"); performance.clearMeasures("update"); return seen.map((each) => each.duration);'''


def updates(browser):
    """Milliseconds of script of UPDATES updates."""
    tick, times = threading.Event(), []
    browser.run(TAKE)
    while len(times) < UPDATES:
        tick.wait(1)
        times += browser.run(TAKE)
    return times


def row(name, value, bar, unit, judged=True):
    verdict = f'bar {bar} {unit}: {"ok" if value <= bar else "ABOVE"}' if judged else ''
    print(f'{name:52} {value:7.2f} {unit:4} {verdict}', flush=True)
    return value <= bar


def main():
    try:
        browser = Browser()
    except NoBrowser as reason:
        print(f'bench page: no browser on this machine: {reason}', file=sys.stderr)
        return 1
    good = True
    try:
        for name, bar, services, address, ready in PAGES:
            engine = FakeEngine(services())
            browser.open(engine.url + address)
            browser.wait_text(ready)
            times = updates(browser)
            good &= row(f'{name}: median', statistics.median(times), bar, 'ms')
            row(f'{name}: 95 of 100', statistics.quantiles(times, n=20)[-1], bar, 'ms', judged=False)
            before = browser.heap_bytes()
            threading.Event().wait(HEAP_SECONDS)
            good &= row(f'{name}: heap after {HEAP_SECONDS} s more', max(0, browser.heap_bytes() - before) / (1 << 20), HEAP_BAR_MIB, 'MiB')
            engine.close()
    finally:
        browser.close()
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
