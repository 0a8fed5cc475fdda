"""The page for a first install, deploy/KUBERNETES.md: its commands, as they are written there."""

import os
import re
import subprocess

from wire import eventually, fetch

from lab import images
from lab.case import LabCase
from lab.chart import RELEASE, ROOT, SCALERS

PAGE = ROOT / 'deploy/KUBERNETES.md'
IMAGE = 'docker.io/nginxinc/nginx-unprivileged:1.29'  # what the page uses; here a program of the laboratory
HELLO = '/apis/apps/v1/namespaces/default/deployments/hello'
COMMAND_SECONDS = 200


def commands(heading):
    """The lines of the first block of shell below a heading of the page."""
    section = PAGE.read_text(encoding='utf-8').split(f'\n## {heading}\n', 1)[1]
    return re.search(r'```sh\n(.*?)```', section, re.DOTALL)[1].splitlines()


class CleanInstall(LabCase):
    def setUp(self):
        super().setUp()
        self.chart = self.lab.chart
        if self.chart.values is not None:
            self.chart.remove()
        self.chart.import_images()
        self.lab.import_image(IMAGE, images.compiled(self.lab.folder))
        self.addCleanup(self.forget)

    def forget(self):
        self.lab.kubectl('label', 'namespace', 'default', 'sluice.dev/inject-')
        if self.api.find(HELLO):
            self.api.delete(HELLO)
        first, second = commands('Out again')
        self.run_line(first)
        self.chart.end_pods()
        self.run_line(second)
        self.chart.wait_gone()

    def run_line(self, line):
        """As typed into a shell, in the folder of the project."""
        done = subprocess.run(['bash', '-c', line], cwd=ROOT, capture_output=True, text=True, check=False,
                              timeout=COMMAND_SECONDS, env=self.environment())
        self.assertEqual(done.returncode, 0, f'{line}\n{done.stdout}{done.stderr}')
        return done.stdout

    def environment(self):
        folder = self.lab.folder
        return {**os.environ, 'PATH': f'{self.lab.tools}:{os.environ["PATH"]}', 'HOME': str(folder),
                'KUBECONFIG': str(self.lab.kubeconfig)}

    def test_five_commands_lead_to_a_sleeping_deployment(self):
        lines = commands('Five commands')
        self.assertEqual(len(lines), 5)

        for line in lines:
            self.run_line(line)

        self.assertIn(RELEASE, lines[0])
        self.assertEqual(self.api.get(HELLO)['spec']['replicas'], 0)
        answer = fetch(self.address(), timeout=60)
        self.assertEqual(answer.status, 200)
        self.assertRegex(answer.body.decode(), r'^app hello-')
        self.assert_columns()

    def address(self):
        found = eventually(lambda: self.api.find('/api/v1/namespaces/default/services/hello'), 'the Service')
        return f'{found["spec"]["clusterIP"]}:8080'

    def assert_columns(self):
        """Those that the page explains, in its order."""
        told = self.run_line('kubectl get rqs hello').splitlines()
        self.assertEqual(told[0].split(), 'NAME READY WANT ACTUAL MIN MAX TARGET REASON AGE'.split())
        self.assertIn('True', told[1])
        self.assertEqual(len(self.api.items(SCALERS)), 1)
