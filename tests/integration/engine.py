"""A real engine in a home of its own, and its helpers for tests."""

import json
import os
import pathlib
import queue
import signal
import subprocess
import tempfile
import threading
import unittest

from program import SANITIZERS
from wire import Deadline, fetch

BIN = pathlib.Path(os.environ.get('SLUICE_BIN', 'build/release/bin')).resolve()
SLUICE = str(BIN / 'sluice')
QUEUE_PROXY = str(BIN / 'queue-proxy')
APP = str(pathlib.Path(__file__).resolve().parent / 'app.py')
START_SECONDS = 60
STOP_SECONDS = 40


class Home:
    """Temporary directories for state, sockets and files; gone when closed."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix='sluice-test-')
        self.path = pathlib.Path(self.folder.name)
        self.environment = {**os.environ, **SANITIZERS}
        for name in ('XDG_STATE_HOME', 'XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME', 'HOME'):
            place = self.path / name.lower()
            place.mkdir(mode=0o700)
            self.environment[name] = str(place)
        self.environment['PYTHONDONTWRITEBYTECODE'] = '1'

    def close(self):
        self.folder.cleanup()

    def run(self, *arguments, timeout=30, stdin=None):
        """A finished `sluice` command."""
        return subprocess.run([SLUICE, *arguments], env=self.environment, input=stdin, text=True,
                              capture_output=True, timeout=timeout, cwd=self.path)


class Engine:
    """A running `sluice up -o json` on a free port; its events are kept in order."""

    def __init__(self, home, *arguments, wrapper=(), http='127.0.0.1:0'):
        self.home = home
        command = [*wrapper, SLUICE, 'up', '-o', 'json', '--http', http, *arguments]
        self.log_path = home.path / f'engine-{id(self)}.log'
        self.log = open(self.log_path, 'w', encoding='utf-8')
        self.process = subprocess.Popen(command, env=home.environment, stdout=subprocess.PIPE,
                                        stderr=self.log, cwd=home.path, text=True,
                                        errors='replace')
        self.events = []
        self.arrived = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        try:
            ready = self.wait_event('engine', START_SECONDS, event='ready')
        except AssertionError:
            self.kill()
            raise
        self.http = ready['http']
        self.pid = ready['pid']

    def read(self):
        for line in self.process.stdout:
            try:
                self.arrived.put(json.loads(line))
            except json.JSONDecodeError:
                self.arrived.put({'type': 'not-json', 'line': line})
        self.arrived.put(None)

    def drain(self, seconds):
        """Takes one more event, or returns False when none came in time."""
        try:
            event = self.arrived.get(timeout=seconds)
        except queue.Empty:
            return False
        if event is None:
            return False
        self.events.append(event)
        return True

    def wait_event(self, type_, seconds=30, after=0, **fields):
        """The first event from number `after` on with these fields, among those seen or to come."""
        deadline = Deadline(seconds)
        seen = after
        while True:
            for event in self.events[seen:]:
                seen += 1
                if event.get('type') == type_ and all(event.get(k) == v for k, v in fields.items()):
                    return event
            if deadline.passed() or (not self.drain(deadline.left()) and not self.reader.is_alive()):
                raise AssertionError(f'no {type_} event with {fields} in {seconds} s; engine exit '
                                     f'{self.process.poll()}; last events {self.events[-5:]}; '
                                     f'log: {self.log_text()[-2000:]}')

    def mark(self):
        """A number for wait_event(after=...): everything seen so far comes before it."""
        while self.drain(0.01):
            pass
        return len(self.events)

    def log_text(self):
        self.log.flush()
        return self.log_path.read_text(encoding='utf-8', errors='replace')

    def get(self, path='/', **options):
        return fetch(self.http, path, **options)

    def status(self, service='app'):
        answer = fetch(self.http, f'/_sluice/api/v1/services/default/{service}', host='localhost')
        return answer.json()

    def wait_status(self, condition, seconds=60, service='app'):
        """Polls the API until `condition(status)`; returns that status."""
        deadline = Deadline(seconds)
        tick = threading.Event()
        while True:
            status = self.status(service)
            if condition(status):
                return status
            if deadline.passed():
                raise AssertionError(f'not within {seconds} s: {status}')
            tick.wait(0.1)

    def stop(self):
        """SIGTERM and the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        finally:
            self.kill()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self.reader.join(10)
        self.process.stdout.close()
        self.log.close()


def alive(pid):
    """True while the process exists and is no zombie."""
    try:
        stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rsplit(')', 1)[1].split()[0] not in 'ZX'


# Controller, and the files of its limit in control groups of version 1 and 2.
CPU_QUOTA = ('cpu', 'cpu.cfs_quota_us', 'cpu.max')
MEMORY_LIMIT = ('memory', 'memory.limit_in_bytes', 'memory.max')


def limit_of(pid, controller, first, second):
    """What the control group that the process is in has as its limit."""
    for line in pathlib.Path(f'/proc/{pid}/cgroup').read_text().splitlines():
        _, controllers, path = line.split(':', 2)
        file = pathlib.Path(f'/sys/fs/cgroup{path}/{second}')
        if controller in controllers.split(','):
            file = pathlib.Path(f'/sys/fs/cgroup/{controller}{path}/{first}')
        if file.exists():
            return file.read_text().split()[0]
    return None


def wait_until(condition, seconds, what):
    deadline = Deadline(seconds)
    tick = threading.Event()
    while not condition():
        if deadline.passed():
            raise AssertionError(f'not within {seconds} s: {what}')
        tick.wait(0.05)


class EngineCase(unittest.TestCase):
    """Each test has a home; engines started with up() are stopped after it."""

    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)

    def up(self, *arguments, **options):
        engine = Engine(self.home, *arguments, **options)
        self.addCleanup(engine.kill)
        return engine

    def up_app(self, *flags, env=(), **options):
        """The test application behind an engine."""
        pairs = [part for pair in env for part in ('--env', pair)]
        return self.up(*flags, *pairs, '--', 'python3', APP, **options)

    def write(self, name, text):
        path = self.home.path / name
        path.write_text(text, encoding='utf-8')
        return str(path)

    def can_limit(self, controller):
        """Whether engines of this machine may write limits of that controller."""
        line, = [line for line in self.home.run('doctor').stdout.splitlines() if ' cgroup ' in line]
        return line.startswith('ok') and controller in line.rsplit(':', 1)[1]

    def assert_refuses(self, code, *words, arguments, **options):
        """The command ends with `code` and a message that has all the words."""
        done = self.home.run(*arguments, **options)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        for word in words:
            self.assertIn(word, done.stderr)
        return done
