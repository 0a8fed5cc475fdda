"""Images under `sluice up`: a podman with a store of its own, and an image made of busybox."""

import json
import os
import pathlib
import shutil
import subprocess
import tarfile

from engine import EngineCase
from wire import eventually

IMAGE = 'localhost/web:1'
BUSYBOX = '/bin/busybox'
WINDOW = '6s'
START_SECONDS = 60
SLEEP_SECONDS = 60
OPEN_FILES, PROCESSES = 1024, 4096
SCRIPTS = {
    'env': 'printf "Content-Type: text/plain\\r\\n\\r\\n"; env',
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

    def close(self):
        self.run('rm', '--all', '--force', '--time', '0')


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

    def document(self, container, **spec):
        """A file with a service of this container; JSON is YAML."""
        annotations = {'autoscaling.knative.dev/window': WINDOW}
        return {'apiVersion': 'serving.knative.dev/v1', 'kind': 'Service', 'metadata': {'name': 'app'},
                'spec': {'template': {'metadata': {'annotations': annotations}, 'spec': {'containers': [container], **spec}}}}

    def up_documents(self, *documents):
        return self.up('-f', self.write('app.yaml', '\n---\n'.join(json.dumps(each, indent=1) for each in documents)))

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

    def sleeps(self, engine):
        engine.wait_status(lambda status: status['state'] == 'asleep', SLEEP_SECONDS)
        eventually(lambda: not self.podman.names(), 'all containers are removed')
