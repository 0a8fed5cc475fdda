"""The directory platform, and mistakes of its writer (protocols.md 9)."""

import os
import subprocess

from wire import eventually

from .case import AUTOSCALER, LOOPBACK, AutoscalerTest


class Platform(AutoscalerTest):
    def test_a_wrong_file_is_named_and_changes_nothing(self):
        pod = self.pod('pod-1')
        self.platform.revision('app', [pod.entry()])
        running = self.start()

        self.platform.put('revisions/default.app.json', '{"namespace": "default", "pods": 3}')
        wrong = eventually(lambda: (page := running.health('/readyz?verbose').body.decode()) and
                           'default.app.json' in page and page, 'a page that names the file')

        self.assertIn('[+]platform ok: 1 wrong files: revisions/default.app.json', wrong)
        self.assertEqual(running.api('/services/default/app').json()['ready'], 1)
        self.assertIn('default.app.json', running.errors())
        self.platform.revision('app', [])
        eventually(lambda: running.api('/services/default/app').json()['ready'] == 0, 'no pod is ready')
        self.assertEqual(running.health('/readyz').body, b'ok\n')

    def test_temporary_and_unrelated_files_are_ignored(self):
        self.platform.put('revisions/notes.txt', 'no revision')
        self.platform.put('revisions/.hidden.json', '{')
        self.platform.revision('app')
        running = self.start()

        items = running.api('/services').json()['items']

        self.assertEqual([each['name'] for each in items], ['app'])

    def test_directory_may_be_made_later(self):
        (self.platform.path / 'revisions').rmdir()
        running = self.start()

        (self.platform.path / 'revisions').mkdir()
        self.platform.revision('app')

        eventually(lambda: running.api('/services').json()['items'], 'the revision')

    def test_kill_and_restart_keep_the_replicas(self):
        pods = [self.pod(f'pod-{i}') for i in range(3)]
        self.platform.revision('app', [pod.entry() for pod in pods])
        running = self.start()
        before = self.platform.wait_for_scale('app', lambda o: o['replicas'] == 3)
        running.kill()

        running = self.start()

        eventually(lambda: running.api('/services/default/app/explain').json()['valid'],
                   'an evaluation with data')
        self.assertEqual(self.platform.scale('app'), before)
        self.assertEqual(running.api('/services/default/app').json()['desired'], 3)

    def test_new_revision_gets_its_initial_scale(self):
        running = self.start()

        self.platform.revision('app', annotations={'autoscaling.knative.dev/initial-scale': '2'})

        order = self.platform.wait_for_scale('app', lambda o: True)
        self.assertEqual(order, {'version': 1, 'replicas': 2, 'remove': []})
        self.assertEqual(running.api('/services/default/app').json()['state'], 'starting')

    def test_a_wrong_annotation_counts_as_absent(self):
        running = self.start()

        self.platform.revision('app', annotations={'autoscaling.knative.dev/initial-scale': 'two',
                                                   'autoscaling.knative.dev/min-scale': '3'})

        self.platform.wait_for_scale('app', lambda o: o['replicas'] == 3)
        self.assertIn('initial-scale', running.errors())

    def test_configuration_is_followed(self):
        running = self.start()
        self.assertEqual(running.api('/config').json()['stable-window'], '60.0s')

        self.platform.put('config-autoscaler.json', {'stable-window': '30s'})

        def window():
            return running.api('/config').json()['stable-window']

        eventually(lambda: window() == '30.0s', 'the new window')
        self.platform.put('config-autoscaler.json', {'stable-window': '1s'})
        eventually(lambda: 'config-autoscaler.json' in running.health('/readyz?verbose').body.decode(),
                   'the wrong file is named')
        self.assertEqual(window(), '30.0s')

    def refused(self, expected, *arguments, **environment):
        """Runs to its end; returns what it wrote."""
        done = subprocess.run([AUTOSCALER, *arguments], capture_output=True, text=True, timeout=30,
                              env={**os.environ, **LOOPBACK, **environment})
        self.assertEqual(done.returncode, expected, done.stderr)
        return done.stdout + done.stderr

    def test_mistakes_at_start_are_named(self):
        place = f'dir:{self.platform.path}'
        self.assertIn('dir:PATH', self.refused(78))
        self.assertIn('dir:PATH', self.refused(78, SLUICE_PLATFORM='directory'))
        self.assertIn('/nowhere', self.refused(78, SLUICE_PLATFORM='dir:/nowhere'))
        self.assertIn('SLUICE_API_ADDRESS', self.refused(78, SLUICE_PLATFORM=place,
                                                         SLUICE_API_ADDRESS='somewhere:1'))
        self.assertIn('SLUICE_API_TOKEN_FILE', self.refused(78, SLUICE_PLATFORM=place,
                                                            SLUICE_API_TOKEN_FILE='/nowhere'))
        self.assertIn('16 to 4096 bytes', self.refused(78, SLUICE_PLATFORM=place,
                                                       SLUICE_API_TOKEN_FILE='/proc/sys/kernel/ostype'))
        self.assertIn('--wrong', self.refused(2, '--wrong', SLUICE_PLATFORM=place))
        self.assertIn('SLUICE_TLS_DIR', self.refused(1, SLUICE_PLATFORM=place,
                                                     SLUICE_TLS_DIR='/nowhere'))
        self.platform.put('config-autoscaler.json', {'stable-window': '1s'})
        self.assertIn('stable-window', self.refused(78, SLUICE_PLATFORM=place))

    def test_an_address_in_use_is_named(self):
        running = self.start()

        said = self.refused(1, SLUICE_PLATFORM=f'dir:{self.platform.path}',
                            SLUICE_METRICS_ADDRESS=running.addresses['metrics'])

        self.assertIn('SLUICE_METRICS_ADDRESS', said)
        self.assertIn(running.addresses['metrics'], said)

    def test_help_and_version(self):
        self.assertIn('--ready-fd', self.refused(0, '--help'))
        self.assertRegex(self.refused(0, '--version'), r'autoscaler \d+\.\d+\.\d+')

    def test_a_signal_ends_it_in_order(self):
        running = self.start()

        self.assertEqual(running.leave(), 0)
