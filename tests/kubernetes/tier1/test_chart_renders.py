"""The schema of RequestScaler and the chart, played by the API server and the helm of the laboratory."""

import os
import pathlib
import sys
from unittest import mock

from wire import eventually

from lab.case import LabCase

ROOT = pathlib.Path(__file__).resolve().parents[3]
CRD = ROOT / 'deploy' / 'crds' / 'requestscaler.yaml'
CHART = ROOT / 'deploy' / 'helm'
GROUP = 'autoscaling.sluice.dev'
KIND = f'/apis/{GROUP}/v1alpha1/requestscalers'
sys.path.append(str(ROOT / 'tests' / 'deploy'))

import helm_cases  # noqa: E402
import schema_cases  # noqa: E402


class Schema(LabCase):
    def test_the_kind_accepts_correct_values_and_names_wrong_ones(self):
        self.lab.kubectl('apply', '--server-side', '-f', str(CRD))
        eventually(lambda: self.api.ask('GET', KIND)[0] == 200, 'the kind is served')
        eventually(lambda: any(one['name'] == GROUP for one in self.api.get('/apis')['groups']), 'it is listed')

        failed = list(schema_cases.failures([
            str(self.lab.tools / 'kubectl'), f'--kubeconfig={self.lab.kubeconfig}',
            f'--cache-dir={self.lab.folder}/kubectl']))

        self.assertEqual(failed, [])


class Chart(LabCase):
    def test_the_chart_renders_the_committed_files_and_refuses_wrong_values(self):
        own = {f'HELM_{name}_HOME': str(self.lab.folder / 'helm' / name.lower())
               for name in ('CACHE', 'CONFIG', 'DATA')}
        with mock.patch.dict(os.environ, own):
            failed = list(helm_cases.failures(str(self.lab.tools / 'helm')))

        self.assertEqual(failed, [])

    def test_the_api_server_takes_every_object_of_every_profile(self):
        self.lab.kubectl('apply', '--server-side', '-f', str(CRD))
        for profile in ('small', 'standard', 'ha'):
            with self.subTest(profile=profile):
                manifests = (ROOT / 'deploy' / 'manifests' / f'{profile}.yaml').read_text(encoding='utf-8')
                self.assert_taken(manifests, 'sluice-system')

    def test_kustomize_finds_a_profile(self):
        made = self.lab.kubectl('kustomize', str(ROOT / 'deploy' / 'manifests'))

        self.assert_taken(made, 'sluice-system')

    def test_the_api_server_takes_every_object_beside_knative(self):
        for values in ('knative.activators=true', 'knative.shadow=true'):
            with self.subTest(values=values):
                made = self.lab.helm('template', 'sluice', str(CHART), '--set', f'knative.enabled=true,{values}')

                self.assertEqual(made.returncode, 0, made.stderr)
                self.assert_taken(made.stdout, 'sluice-system', 'knative-serving')

    def assert_taken(self, manifests, *spaces):
        # Namespaces have to be there before what is dry-run inside them.
        for space in spaces:
            self.lab.kubectl('create', 'namespace', space, check=False)
        done = self.lab.kubectl('apply', '--server-side', '--dry-run=server', '-f', '-', stdin=manifests, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
