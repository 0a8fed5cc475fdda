"""What each kind of program has to show: it wakes on its first request, answers, scales under a crowd, sleeps
again, and its output is kept; started as a command and from a file."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import threading

from engine import alive
from wire import Reader, connect, eventually, request_bytes

APPS = pathlib.Path(__file__).resolve().parent / 'apps'
# Where Debian has its programs and modules, whatever else is installed on the machine.
PLACES = {'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'NODE_PATH': '/usr/share/nodejs'}
WINDOW = '6s'
TARGET = 2
CLIENTS = 4  # one asks for one replica, all of them for more
REPLICAS_MAX = 3
START_SECONDS = 60
SLEEP_SECONDS = 120
LARGE = 32 << 20  # more than fits into all sockets between a client and a program


def group_is_alive(group):
    """True while a process of this group exists that is no zombie."""
    for name in filter(str.isdigit, os.listdir('/proc')):
        try:
            if os.getpgid(int(name)) == group and alive(int(name)):
                return True
        except ProcessLookupError:
            pass
    return False


class Apps:
    """The sources of apps/ are in the directory where commands start."""

    protocol = 'http1'

    def setUp(self):
        super().setUp()
        self.home.environment.update(PLACES)
        shutil.copytree(APPS, self.home.path, dirs_exist_ok=True)

    def document(self, command, **annotations):
        """A file with a service of this command; JSON is YAML."""
        settings = {'autoscaling.knative.dev/window': WINDOW, 'autoscaling.knative.dev/target': str(TARGET),
                    'autoscaling.knative.dev/max-scale': str(REPLICAS_MAX),
                    'autoscaling.knative.dev/initial-scale': '0', **annotations}
        container = {'command': list(command), 'ports': [{'name': self.protocol}]}
        return self.write('app.yaml', json.dumps({
            'apiVersion': 'serving.knative.dev/v1', 'kind': 'Service', 'metadata': {'name': 'app'},
            'spec': {'template': {'metadata': {'annotations': settings}, 'spec': {'containers': [container]}}}}))

    def printed(self, *verb):
        """What a verb of `sluice` prints."""
        done = self.home.run(*verb)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout


class Claims(Apps):
    """The claims, for a class with a `command`, the `answer` to /, and a `logged` part of its output."""

    command = ()
    answer = b''
    logged = ''

    def test_started_as_a_command_it_wakes_scales_logs_and_sleeps(self):
        self.wakes_scales_logs_and_sleeps(self.up(
            '--target', str(TARGET), '--max', str(REPLICAS_MAX), '--window', WINDOW, '--', *self.command))

    def test_started_from_a_file_it_wakes_scales_logs_and_sleeps(self):
        self.wakes_scales_logs_and_sleeps(self.up('-f', self.document(self.command)))

    def wakes_scales_logs_and_sleeps(self, engine):
        self.assertEqual(engine.status()['state'], 'asleep')
        self.assertIn(self.answer, self.ask(engine))
        self.scales(engine)
        eventually(lambda: self.logged in self.printed('logs', 'app', '--tail', '10000'), f'{self.logged} in its log')
        engine.wait_status(lambda status: status['state'] == 'asleep', SLEEP_SECONDS)
        self.assert_no_process_is_left(engine)
        self.assertIn(self.answer, self.ask(engine))
        self.assertEqual(engine.stop(), 0)
        self.assert_no_process_is_left(engine)

    def ask(self, engine, path='/'):
        """The body of an answer."""
        answer = engine.get(path, timeout=START_SECONDS)
        self.assertIsNotNone(answer, 'the connection was closed without an answer')
        self.assertEqual((answer.status, answer.whole), (200, True), answer.body)
        return answer.body

    def occupy(self, engine, done):
        """What one client of a crowd does until `done`."""
        while not done.is_set():
            self.ask(engine, '/slow')

    def crowd(self, engine, condition):
        """Clients that all have a request in flight, until a status fulfils the condition; returns that status."""
        done = threading.Event()
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            clients = [pool.submit(self.occupy, engine, done) for _ in range(CLIENTS)]
            try:
                # A client that failed is the reason then, not the status.
                seen = engine.wait_status(lambda status: condition(status) or any(client.done() for client in clients))
            finally:
                done.set()
            for client in clients:
                client.result()
        self.assertTrue(condition(seen), seen)
        return seen

    def scales(self, engine):
        self.crowd(engine, lambda status: status['ready'] > 1)

    def assert_no_process_is_left(self, engine):
        engine.mark()
        groups = {event['pid'] for event in engine.events
                  if event.get('type') == 'replica' and event['state'] == 'ready'}
        self.assertTrue(groups)
        for pid in groups:
            eventually(lambda pid=pid: not group_is_alive(pid), f'group {pid} ended')


class Files(Claims):
    """A server of files: its clients read a large one as slowly as the crowd lasts."""

    answer = b'hello from a file'

    def setUp(self):
        super().setUp()
        with open(self.home.path / 'www' / 'large', 'wb') as large:
            large.truncate(LARGE)

    def occupy(self, engine, done):
        with connect(engine.http) as sock:
            sock.sendall(request_bytes('GET', '/large', 'app.localhost', [('Connection', 'close')]))
            reader = Reader(sock)
            status, _ = reader.head()
            done.wait()
            received = len(reader.data)
            while part := sock.recv(1 << 20):
                received += len(part)
        self.assertEqual((status, received), (200, LARGE))
