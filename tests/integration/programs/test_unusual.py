"""Programs that start slowly, do not read $PORT, write too much, or are a pipeline of the shell."""

import pathlib
import re
import threading
import unittest

from engine import EngineCase
from programs.case import TARGET, WINDOW, Claims, Files
from queue_proxy.case import free_port
from wire import eventually

LOG_BYTES_MAX = 3 * (10 << 20)  # one-machine.md 7


class SlowStart(Claims, EngineCase):
    """Nothing listens for 20 seconds."""

    command = ('python3', 'slow_start.py')
    answer = b'hello from flask'
    logged = 'loading a model'

    def test_a_start_that_lasts_is_reported_as_such_while_its_request_waits(self):
        engine = self.up('--', *self.command)
        answers = []
        asking = threading.Thread(target=lambda: answers.append(self.ask(engine)))
        asking.start()
        self.addCleanup(asking.join)
        started = engine.wait_event('replica', state='starting')
        cause = re.compile(rf'still starting, nothing listens on {started["port"]} yet \(\d+ s\)')
        for verb in (('get',), ('explain', 'app')):
            eventually(lambda verb=verb: cause.search(self.printed(*verb)), f'the cause in {verb}')
        asking.join()
        self.assertIn(self.answer, answers[0])
        self.assertNotIn('probe', self.printed('logs', 'app'))


class FixedPort(Files, EngineCase):
    """A program that does not read $PORT has one replica, whatever the load."""

    logged = '"GET / HTTP/1.1" 200'

    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.command = ('python3', '-m', 'http.server', str(self.port), '--directory', 'www')

    def test_started_as_a_command_it_wakes_scales_logs_and_sleeps(self):
        self.wakes_scales_logs_and_sleeps(self.up(
            '--port', str(self.port), '--target', str(TARGET), '--window', WINDOW, '--', *self.command))

    def test_started_from_a_file_it_wakes_scales_logs_and_sleeps(self):
        self.wakes_scales_logs_and_sleeps(self.up('-f', self.document(
            self.command, **{'sluice.dev/port': str(self.port)})))

    def scales(self, engine):
        seen = self.crowd(engine, lambda status: status['stable'] > TARGET)
        self.assertEqual((seen['desired'], seen['ready']), (1, 1))


class Flood(Claims, EngineCase):
    """Its log keeps its bound, and its clients get their answers."""

    command = ('python3', 'flood.py')
    answer = b'hello from flask'
    logged = 'flood xxx'

    def scales(self, engine):
        super().scales(engine)
        folder = pathlib.Path(self.home.environment['XDG_STATE_HOME'], 'sluice', 'app', 'logs')

        def turned_over():
            self.ask(engine)
            return len(list(folder.glob('app.log*'))) == 3

        eventually(turned_over, 'three log files')
        size = sum(path.stat().st_size for path in folder.iterdir())
        self.assertLessEqual(size, LOG_BYTES_MAX + (1 << 20))


class Pipeline(Files, EngineCase):
    """Each process of it ends with its replica."""

    command = ('sh', '-c', 'python3 -u -m http.server $PORT --directory www 2>&1 | sed -u "s/^/[web] /"')
    logged = '[web] 127.0.0.1'


if __name__ == '__main__':
    unittest.main()
