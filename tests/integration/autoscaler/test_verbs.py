"""Verbs of `sluice`, the program of one machine, with an autoscaler."""

import json
import pathlib
import subprocess
import tempfile

from engine import BIN
from wire import eventually

from .case import AutoscalerTest


class Verbs(AutoscalerTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix='sluice-')
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / 'token'
        self.file.write_text('0123456789abcdef\n')

    def sluice(self, running, *arguments, expected=0):
        done = subprocess.run([str(BIN / 'sluice'), '--server', f'http://{running.addresses["api"]}', *arguments],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, expected, done.stderr)
        return done.stdout + done.stderr

    def test_the_verbs_of_one_machine_work_with_an_autoscaler(self):
        pod = self.pod('pod-1', concurrency=3)
        self.platform.revision('app', [pod.entry()])
        running = self.start(SLUICE_API_TOKEN_FILE=str(self.file))
        eventually(lambda: running.api('/services/default/app/explain').json()['valid'], 'a decision')
        token = ('--token-file', str(self.file))

        self.assertIn('app', self.sluice(running, 'get'))
        self.assertIn('app', self.sluice(running, 'top'))
        self.assertEqual(json.loads(self.sluice(running, 'get', 'default/app', '-o', 'json'))['ready'], 1)
        self.assertIn('pod-1', self.sluice(running, 'explain', 'app', '--awake'))
        self.assertIn('1 replica wanted', self.sluice(running, 'explain', 'app'))
        self.assertIn('SLUICE_API_TOKEN_FILE', self.sluice(running, 'scale', 'app', '--min', '2', expected=1))
        self.sluice(running, *token, 'scale', 'app', '--min', '2')
        self.platform.wait_for_scale('app', lambda order: order['replicas'] == 2)
        self.assertIn('is ready', self.sluice(running, *token, 'wake', 'app'))
        self.assertEqual(json.loads(self.sluice(running, 'history', 'app', '-o', 'json'))[-1]['bounded'], 2)
        self.assertIn('default/app', self.sluice(running, 'explain', 'other/app', expected=1))
