"""Images under `sluice up`: a podman with a store of its own, and an image made of busybox."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import threading

from engine import EngineCase
from wire import eventually

HERE = pathlib.Path(__file__).resolve().parent
IMAGE = 'localhost/web:1'
FIRST, SECOND = 'sluice-app-app-00001-1', 'sluice-app-app-00001-2'
BUSYBOX = '/bin/busybox'
WINDOW = '6s'
START_SECONDS = 60
SLEEP_SECONDS = 60
OPEN_FILES, PROCESSES = 1024, 4096
SCRIPTS = {
    'env': 'printf "Content-Type: text/plain\\r\\n\\r\\n"; env',
    'stuck': 'sleep 60',
    'slow': 'sleep 1; printf "Content-Type: text/plain\\r\\n\\r\\nslow"',
    'read': 'printf "Content-Type: text/plain\\r\\n\\r\\n"; cat "$QUERY_STRING"; ls -ld "$QUERY_STRING"; pwd',
    'write': 'printf "Content-Type: text/plain\\r\\n\\r\\n"; echo x >"$QUERY_STRING" && echo written || echo refused',
}
SERVE = 'echo "serving on $PORT"; exec httpd -f -p "$PORT" -h /www'


class Podman:
    """A store, networks and state in `folder`, so that nothing of it meets what else is on the machine."""

    def __init__(self, folder):
        self.folder = folder
        # podman's own are beyond what a user without the right to raise limits has.
        limits = [f'nofile={OPEN_FILES}:{OPEN_FILES}', f'nproc={PROCESSES}:{PROCESSES}']
        # crun refuses the mixture of control groups that some machines have.
        runtime = shutil.which('runc', path='/usr/sbin:/usr/bin') or 'crun'
        (folder / 'storage.conf').write_text(
            f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/store"\nrunroot = "{folder}/run"\n')
        (folder / 'containers.conf').write_text(
            f'[containers]\ndefault_ulimits = {json.dumps(limits)}\n'
            f'[engine]\nevents_logger = "file"\ncgroup_manager = "cgroupfs"\nruntime = "{pathlib.Path(runtime).name}"\n'
            f'tmp_dir = "{folder}/tmp"\n'
            f'[network]\nnetwork_config_dir = "{folder}/networks"\n')
        self.environment = {'CONTAINERS_STORAGE_CONF': f'{folder}/storage.conf',
                            'CONTAINERS_CONF': f'{folder}/containers.conf',
                            'PATH': '/usr/sbin:/usr/bin:/sbin:/bin'}

    def run(self, *words):
        done = subprocess.run(['podman', *words], env={**os.environ, **self.environment}, capture_output=True, text=True,
                              timeout=60, check=False)
        if done.returncode != 0:
            raise AssertionError(f'podman {words}: {done.stderr}')
        return done.stdout

    def names(self):
        return self.run('ps', '--all', '--format', '{{.Names}}').split()

    def inspected(self, name):
        return json.loads(self.run('inspect', name))[0]

    def make_image(self):
        """One static program under its many names, and what it serves."""
        root = self.folder / 'root'
        (root / 'bin').mkdir(parents=True)
        shutil.copy(BUSYBOX, root / 'bin' / 'busybox')
        for name in ('sh', 'httpd', 'sleep', 'cat', 'env', 'ls', 'dd', 'test', 'pwd', 'touch'):
            (root / 'bin' / name).symlink_to('busybox')
        subprocess.run(['gcc', '-O1', '-Wall', '-Wextra', '-static', '-s', '-o', str(root / 'bin' / 'h2c'),
                        str(HERE / 'h2c.c')], check=True, timeout=60)
        (root / 'www' / 'cgi-bin').mkdir(parents=True)
        (root / 'www' / 'index.html').write_text('hello from a container\n')
        (root / 'tmp').mkdir()
        for name, text in SCRIPTS.items():
            script = root / 'www' / 'cgi-bin' / name
            script.write_text(f'#!/bin/sh\n{text}\n')
            script.chmod(0o755)
        with tarfile.open(self.folder / 'image.tar', 'w') as tar:
            tar.add(root, '.')
        command = json.dumps(['/bin/sh', '-c', SERVE])
        self.run('import', '--change', f'CMD {command}', '--change', 'ENV FROM_IMAGE=kept',
                 str(self.folder / 'image.tar'), IMAGE)

    def is_at_work(self):
        """True while a process of this home runs: conmon cleans up after a container's end, the guard after an engine's."""
        home = os.fsencode(self.folder.parent)
        for process in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
            with contextlib.suppress(OSError):
                if home in process.read_bytes():
                    return True
        return False

    def close(self):
        self.run('rm', '--all', '--force', '--time', '0')
        eventually(lambda: not self.is_at_work(), 'podman has ended', SLEEP_SECONDS)


class Images(EngineCase):
    def setUp(self):
        super().setUp()
        folder = self.home.path / 'podman'
        folder.mkdir()
        self.podman = Podman(folder)
        self.podman.make_image()
        self.home.environment.update(self.podman.environment)
        self.addCleanup(self.podman.close)

    def up_image(self, *arguments, image=IMAGE, flags=()):
        return self.up('--image', image, '--window', WINDOW, *flags, *(('--', *arguments) if arguments else ()))

    def shell(self, script, flags=()):
        """The image with another command."""
        return self.up_image('/bin/sh', '-c', script, flags=flags)

    def document(self, container, target='100', **spec):
        """A service of this container."""
        annotations = {'autoscaling.knative.dev/window': WINDOW, 'autoscaling.knative.dev/target': target,
                       'autoscaling.knative.dev/max-scale': '2'}
        return {'apiVersion': 'serving.knative.dev/v1', 'kind': 'Service', 'metadata': {'name': 'app'},
                'spec': {'template': {'metadata': {'annotations': annotations}, 'spec': {'containers': [container], **spec}}}}

    def written(self, *documents):
        """The file of them; JSON is YAML."""
        return self.write('app.yaml', '\n---\n'.join(json.dumps(each, indent=1) for each in documents))

    def up_documents(self, *documents):
        return self.up('-f', self.written(*documents))

    def ask(self, engine, path='/'):
        """The text of an answer."""
        answer = engine.get(path, timeout=START_SECONDS)
        self.assertEqual((answer.status, answer.whole), (200, True), answer.body)
        return answer.body.decode()

    def refused(self, engine):
        """The cause in the answer of a service that does not start."""
        answer = engine.get(timeout=START_SECONDS)
        self.assertEqual(answer.status, 503, answer.body)
        return answer.body.decode()

    def printed(self, *verb):
        done = self.home.run(*verb)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def assert_cause(self, engine, cause, refusal=None):
        """It does not start, and answer, explain and log say why."""
        self.assertIn(refusal or cause, self.refused(engine))
        self.assertIn(cause, self.printed('explain', 'app'))
        self.assertIn(cause, self.printed('logs', 'app'))
        engine.stop()
        self.assertEqual(self.podman.names(), [])

    def assert_lives(self, engine, ask=None, says='slow', prints='serving on 8080'):
        """A service with a target of 1: its first request wakes it, load brings a second replica, its output is in its
        log, it goes to sleep without load, and wakes again. `ask` returns the text of one request that lasts."""
        ask = ask or (lambda: self.ask(engine, '/cgi-bin/slow'))
        self.assertEqual((engine.status()['state'], self.podman.names()), ('asleep', []))
        self.assertEqual(ask(), says)
        self.assertIn(FIRST, self.podman.names())
        done = threading.Event()

        def occupy():
            while not done.is_set():
                self.assertEqual(ask(), says)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            clients = [pool.submit(occupy) for _ in range(4)]
            try:
                engine.wait_event('replica', START_SECONDS, id='app-00001-2', state='ready')
                self.assertLessEqual({FIRST, SECOND}, set(self.podman.names()))
            finally:
                done.set()
            for client in clients:
                client.result()
        eventually(lambda: re.search(rf'app-00001-2#\d+ \| {prints}\n', self.printed('logs', 'app')),
                   'the output of the second is in the log')
        self.sleeps(engine)
        self.assertEqual(ask(), says)

    def sleeps(self, engine):
        engine.wait_status(lambda status: status['state'] == 'asleep', SLEEP_SECONDS)
        eventually(lambda: not self.podman.names(), 'all containers are removed', SLEEP_SECONDS)
