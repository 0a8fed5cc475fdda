"""What pages cost an engine of one machine: CPU, bytes of streams, the front door's latency, and how long an answer holds its thread."""

import contextlib
import json
import statistics
import subprocess
import threading
import time

from dashboard_pages import API, VIEW_ROWS, Asker, BrowserPage, fleet_page, service_page
from engines import DOCUMENT
from meters import cpu_seconds
from peers import BenchError
from table import VALUE, Row

SERVICE_RATE, DOOR_RATE = 400, 1000
SERVICE_PATH = '/sleep?ms=20'
FLEET, FLEET_AWAKE = 1000, 100
TEN = 10
SETTLE_SECONDS = 3     # after pages were opened or closed
LOAD_SECONDS_MAX = 3600
IN_FILE = 1000
KIB = 1024

# ---- An engine, and what keeps it busy ----


@contextlib.contextmanager
def engine_of(make_arguments):
    """An engine with what `make_arguments(home)` gives; ends with all it started."""
    from engine import Engine, Home
    home = Home()
    try:
        engine = Engine(home, *make_arguments(home))
    except AssertionError as problem:
        home.close()
        raise BenchError(str(problem)) from problem
    try:
        yield engine
    finally:
        engine.kill()
        home.close()


@contextlib.contextmanager
def fleet_engine(services, awake):
    """An engine with so many services, the first `awake` of which have served: (engine, names of those)."""
    names = [f'awake-{number:03}' for number in range(awake)]
    names += [f'asleep-{number:05}' for number in range(services - awake)]

    def files(home):
        from engine import SLUICE
        folder = home.path / 'services'
        folder.mkdir()
        for begin in range(0, len(names), IN_FILE):
            documents = [DOCUMENT.format(name=name, sluice=SLUICE) for name in names[begin:begin + IN_FILE]]
            (folder / f'{begin}.yaml').write_text('---\n'.join(documents))
        return ['-f', str(folder)]

    with engine_of(files) as engine:
        for name in names[:awake]:
            engine.get('/', host=f'{name}.localhost', timeout=60)
        yield engine, names[:awake]


@contextlib.contextmanager
def one_service():
    """An engine with the service `shop`, which has at least two replicas."""
    def arguments(_):
        from engine import SLUICE
        return ['--name', 'shop', '--min', '2', '--max', '8', '--target', '7', '--', SLUICE, 'demo-app']

    with engine_of(arguments) as engine:
        engine.wait_status(lambda status: status['ready'] >= 2, service='shop')
        yield engine


def load_command(engine, rate, seconds, path):
    from engine import SLUICE
    port = engine.http.rsplit(':', 1)[1]
    return [SLUICE, 'load', f'http://shop.localhost:{port}{path}', '--rate', str(rate), '-z', f'{seconds}s',
            '--arrivals', 'uniform', '-o', 'json']


@contextlib.contextmanager
def steady_load(engine):
    """Requests to the service all the time."""
    command = load_command(engine, SERVICE_RATE, LOAD_SECONDS_MAX, SERVICE_PATH)
    process = subprocess.Popen(command, env=engine.home.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
        if process.poll() is not None:
            raise BenchError(f'sluice load ended with {process.returncode} while it was needed')
    finally:
        process.kill()
        process.wait()


class Pulse(threading.Thread):
    """One request a second to each of the names, evenly spaced."""

    def __init__(self, engine, names):
        super().__init__(daemon=True)
        self.asker, self.names = Asker(engine.http), names
        self.ended, self.problem = threading.Event(), ''
        self.start()

    def run(self):
        number, due = 0, time.monotonic()
        try:
            while not self.ended.wait(max(0, due - time.monotonic())):
                status, _ = self.asker.ask('/', host=f'{self.names[number % len(self.names)]}.localhost')
                if status != 200:
                    raise EOFError(f'a service answered {status}')
                number, due = number + 1, due + 1 / len(self.names)
        except (OSError, EOFError, IndexError, ValueError) as problem:
            self.problem = str(problem)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join(60)
        self.asker.close()


# ---- CPU and streams ----


@contextlib.contextmanager
def opened(make, count):
    """So many pages of `make()`, all open; one that ends meanwhile is an error."""
    pages = []
    try:
        for _ in range(count):
            pages.append(make())
        yield pages
        broken = [page.problem for page in pages if page.problem]
        if broken:
            raise BenchError(f'{len(broken)} of {count} pages ended: {broken[0]}')
    finally:
        for page in pages:
            page.close()


def pause(seconds):
    threading.Event().wait(seconds)


def cpu_share(engine, seconds):
    """Percent of one core."""
    before, began = cpu_seconds(engine.pid), time.monotonic()
    pause(seconds)
    return (cpu_seconds(engine.pid) - before) / (time.monotonic() - began) * 100


def with_and_without(engine, options, make, count):
    """In turns without pages and with them: (share without, share with, KiB/s of each stream) of each round."""
    seen = []
    for _ in range(options.rounds):
        pause(SETTLE_SECONDS)
        without = cpu_share(engine, options.seconds)
        with opened(make, count) as pages:
            pause(SETTLE_SECONDS)
            before, began = sum(page.received for page in pages), time.monotonic()
            share = cpu_share(engine, options.seconds)
            received = sum(page.received for page in pages) - before
            seen.append((without, share, received / (time.monotonic() - began) / count / KIB))
    return seen


def cpu_row(what, seen, bar):
    without, with_pages, _ = zip(*seen)
    return Row('engine', f'engine CPU: {what}', '% of a core',
               {'without': without, 'with': with_pages, VALUE: [one - other for one, other in zip(with_pages, without)]},
               bar, judged=VALUE)


def stream_row(what, seen, bar):
    return Row('stream', f'stream: {what}', 'KiB/s', {VALUE: [rate for _, _, rate in seen]}, bar, judged=VALUE)


def in_browser(options):
    """Whether the page itself can be opened here, and is to be."""
    return options.browser == ''


def service(options):
    """A service at 400 requests/s: with one page that shows it, and with ten."""
    with one_service() as engine, steady_load(engine):
        def page():
            return service_page(engine.http, 'shop')

        one = with_and_without(engine, options, page, 1)
        ten = with_and_without(engine, options, page, TEN)
        name = f'a service at {SERVICE_RATE}/s'
        rows = [cpu_row(name, one, 1), cpu_row(f'{TEN} pages of {name}', ten, 3), stream_row(name, one, 6)]
        if in_browser(options):
            real = with_and_without(engine, options, lambda: BrowserPage(engine.http, '#/s/default/shop', 'Why '), 1)
            rows += [cpu_row(f'{name}, page in Chromium', real, 1), stream_row(f'{name}, page in Chromium', real, 6)]
        return rows


def fleet(options):
    """A thousand services, a hundred of them awake with a request a second each."""
    with fleet_engine(FLEET, FLEET_AWAKE) as (engine, awake), Pulse(engine, awake) as pulse:
        name = f'a fleet of {FLEET:,}, {FLEET_AWAKE} awake'
        seen = with_and_without(engine, options, lambda: fleet_page(engine.http, awake, FLEET), 1)
        rows = [cpu_row(name, seen, 3), stream_row(f'{name}, {VIEW_ROWS} rows in view', seen, 20)]
        if in_browser(options):
            real = with_and_without(engine, options, lambda: BrowserPage(engine.http, '#/', 'awake-000'), 1)
            rows += [cpu_row(f'{name}, page in Chromium', real, 3), stream_row(f'{name}, page in Chromium', real, 20)]
        if pulse.problem:
            raise BenchError(f'the requests to the fleet ended: {pulse.problem}')
        return rows


# ---- The front door beside pages ----


def door_run(engine, options):
    """p99 of requests at a steady rate, in ms from sending, and whether the generator was late."""
    done = subprocess.run(load_command(engine, DOOR_RATE, options.seconds, '/'), env=engine.home.environment,
                          capture_output=True, text=True, timeout=options.seconds + 120, check=False)
    if done.returncode:
        raise BenchError(f'sluice load ended with {done.returncode}: {done.stderr.strip()[-300:]}')
    report = json.loads(done.stdout)
    if report['errors']['total'] or report['requests']['answered'] != report['requests']['sent']:
        raise BenchError(f'not every request was answered: {report["errors"]}')
    return report['service_ms']['p99'], report['generator']['late']


def door(options):
    """In turns with ten pages and without, the first of each pair in turns too."""
    without, with_pages, late = [], [], 0
    with one_service() as engine:
        door_run(engine, options)
        for number in range(2 * options.rounds):
            for pages in (number % 2, 1 - number % 2):
                with opened(lambda: service_page(engine.http, 'shop'), TEN * pages):
                    pause(SETTLE_SECONDS)
                    p99, was_late = door_run(engine, options)
                (with_pages if pages else without).append(p99)
                late += was_late
    more = [one - other for one, other in zip(with_pages, without)]
    note = f', generator late in {late} of {4 * options.rounds}' if late else ''
    return [Row('door', f'p99 at {DOOR_RATE:,}/s: {TEN} pages open{note}', 'ms',
                {'without': without, 'with': with_pages, VALUE: more}, 0.2, judged=VALUE)]


# ---- How long an answer holds the thread ----

HOLD_BAR_MS = 2
QUIET_SECONDS = 0.02
ANSWERS = ('services?limit=100', 'services?limit=1000', 'services?brief=1&limit=100', 'services?brief=1&limit=1000',
           'services?brief=1&limit=100&sort=rps', 'services?brief=1&limit=100&q=7', 'overview',
           'services/default/awake-000', 'services/default/awake-000/series?since=6h', 'memory')


class Prober(threading.Thread):
    """Asks for an unknown host all the time; `waits` has how long each answer took, in ms."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.asker, self.waits, self.ended = Asker(address), [], False

    def run(self):
        while not self.ended:
            begin = time.perf_counter()
            self.asker.ask('/', host='unknown.example')
            self.waits.append((time.perf_counter() - begin) * 1000)

    def take(self):
        waits, self.waits = self.waits, []
        return waits


def holds(engine, prober, path, answers):
    """The longest wait of the prober beside each answer, and beside none where there is no path."""
    asker, longest = Asker(engine.http), []
    for _ in range(answers):
        pause(QUIET_SECONDS)
        prober.take()
        status = asker.ask(f'{API}/{path}')[0] if path else pause(QUIET_SECONDS) or 200
        pause(QUIET_SECONDS)
        longest.append(max(prober.take(), default=0))
        if status != 200:
            raise BenchError(f'{path}: {status}')
    asker.close()
    return longest


def cpu_ms(engine, path, answers):
    asker = Asker(engine.http)
    begin = cpu_seconds(engine.pid)
    for _ in range(answers):
        asker.ask(f'{API}/{path}')
    asker.close()
    return (cpu_seconds(engine.pid) - begin) / answers * 1000


def answers(options):
    """What each answer that a page reads costs an engine with many services."""
    with fleet_engine(options.services, options.awake) as (engine, _):
        costs = {path: cpu_ms(engine, path, options.answers) for path in ANSWERS}
        prober = Prober(engine.http)
        prober.start()
        noise = holds(engine, prober, '', options.answers)
        rows = [Row('answers', f'thread held by nothing: the noise, {options.services:,} services', 'ms', {VALUE: [statistics.median(noise)]}, judged=VALUE)]
        for path in ANSWERS:
            held = holds(engine, prober, path, options.answers)
            rows.append(Row('answers', f'thread held by {path}, {costs[path]:.2f} ms of CPU', 'ms', {VALUE: held}, HOLD_BAR_MS, judged=VALUE))
        prober.ended = True
        prober.join(10)
        return rows
