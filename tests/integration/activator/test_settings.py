"""Settings, their errors, and what the program exports (activator.md 2, 11)."""

import json
import os
import subprocess
import unittest

from activator.case import ACTIVATOR, ENVIRONMENT, ActivatorCase, eventually

REQUIRED = ('POD_NAME', 'POD_IP', 'SYSTEM_NAMESPACE')


class Settings(ActivatorCase):
    def complaint(self, without=(), arguments=(), **changes):
        """(exit status, standard error) of a start that fails."""
        environment = {**os.environ, **ENVIRONMENT, 'SLUICE_PLATFORM': f'dir:{self.platform.path}',
                       **changes}
        for name in without:
            del environment[name]
        ended = subprocess.run([ACTIVATOR, *arguments], env=environment, capture_output=True,
                               check=False, timeout=30)
        return ended.returncode, ended.stderr.decode()

    def test_a_missing_required_setting_is_named(self):
        for name in REQUIRED:
            status, text = self.complaint([name])
            self.assertEqual(status, 1)
            self.assertIn(name, text)

    def test_wrong_values_are_named_with_the_accepted_ones(self):
        for name, value in {'PROBE_TIMEOUT': 'soon', 'PROBE_FREQUENCY': '-1s',
                            'MAX_IDLE_PROXY_CONNS': 'many', 'SLUICE_QUEUE_DEPTH': '0',
                            'SLUICE_QUEUE_WAIT': '1', 'SLUICE_HTTP_ADDRESS': 'example.com:80',
                            'SLUICE_AUTOSCALER_ADDRESS': 'nowhere', 'SLUICE_THREADS': '4',
                            'ACTIVATOR_TLS_MIN_VERSION': '1.1', 'SLUICE_LOG_LEVEL': 'loud',
                            'SLUICE_PLATFORM': 'cloud', 'SLUICE_COLD_START_HEADER': 'maybe',
                            'SLUICE_MESH_COMPATIBILITY_MODE': 'on',
                            'SLUICE_MESH_POD_ADDRESSABILITY': 'maybe',
                            'SLUICE_KNATIVE_CONTRACT': 'older',
                            'SLUICE_WRITE_TIMEOUT': 'soon', 'SLUICE_HEADER_MEMORY': '1024',
                            'OBSERVABILITY_CONFIG': '[]'}.items():
            status, text = self.complaint(**{name: value})
            self.assertEqual(status, 1, f'{name}={value}')
            self.assertIn(name, text)

    def test_routing_always_to_the_service_and_always_to_the_pod_is_refused(self):
        status, text = self.complaint(SLUICE_MESH_COMPATIBILITY_MODE='enabled',
                                      SLUICE_MESH_POD_ADDRESSABILITY='true')
        self.assertEqual(status, 1)
        self.assertIn('SLUICE_MESH_POD_ADDRESSABILITY', text)

    def test_outside_a_cluster_and_without_a_kubeconfig_the_ways_to_one_are_named(self):
        status, text = self.complaint(SLUICE_PLATFORM='kubernetes', HOME='/nonexistent', KUBECONFIG='',
                                      SLUICE_KUBECONFIG='', KUBERNETES_SERVICE_HOST='')
        self.assertEqual(status, 1)
        self.assertIn('SLUICE_KUBECONFIG', text)

    def test_a_kubeconfig_that_is_not_there_is_named(self):
        status, text = self.complaint(SLUICE_PLATFORM='kubernetes',
                                      SLUICE_KUBECONFIG='/nonexistent/kubeconfig')
        self.assertEqual(status, 1)
        self.assertIn('/nonexistent/kubeconfig', text)

    def test_a_directory_that_is_not_there_is_named(self):
        status, text = self.complaint(SLUICE_PLATFORM='dir:/nonexistent/sluice')
        self.assertEqual(status, 1)
        self.assertIn('/nonexistent/sluice', text)

    def test_a_port_that_is_taken_is_named_with_its_variable(self):
        door = self.activator()
        status, text = self.complaint(SLUICE_H2C_ADDRESS=door.serving)
        self.assertEqual(status, 1)
        self.assertIn('SLUICE_H2C_ADDRESS', text)

    def test_help_and_version(self):
        for argument, word in (('--help', 'ready-fd'), ('--version', 'activator 1.')):
            ended = subprocess.run([ACTIVATOR, argument], capture_output=True, check=False)
            self.assertEqual(ended.returncode, 0)
            self.assertIn(word, ended.stdout.decode())
        self.assertEqual(self.complaint(arguments=['--nonsense'])[0], 2)


class Observability(ActivatorCase):
    def test_series_of_requests_carry_their_revision(self):
        door = self.serving(annotations={'serving.knative.dev/configuration': 'cfg'}, service='svc')
        door.get()
        owner = ('kn_service_name="svc",kn_configuration_name="cfg",kn_revision_name="app",'
                 'k8s_namespace_name="default"')
        metrics = door.metrics()
        duration = [name for name in metrics
                    if name.startswith('http_server_request_duration_seconds_count') and owner in name]
        self.assertEqual(len(duration), 1)
        self.assertIn('http_response_status_code="200"', duration[0])
        self.assertIn(f'kn_revision_request_concurrency{{{owner}}}', metrics)
        short = '{k8s_namespace_name="default",kn_revision_name="app"}'
        self.assertEqual(metrics[f'kn_revision_request_queued{short}'], 0)
        self.assertEqual(metrics[f'kn_revision_request_active{short}'], 0)
        self.assertEqual(metrics['kn_activator_stats_conn_reachable{peer="autoscaler"}'], 0)
        eventually(lambda: door.metrics()['kn_activator_stats_conn_errors_total{peer="autoscaler"}']
                   > 0, 'errors counted')

    def test_waiting_is_measured_for_cold_and_warm_apart(self):
        self.platform.revision(pods=[])
        door = self.activator()
        held = self.ask(door)
        self.wait_for_waiting(door, 1)
        pod = self.pod()
        self.platform.pods_of([pod.entry])
        held.result()
        door.get()
        metrics = door.metrics()
        for start in ('cold', 'warm'):
            self.assertEqual(
                metrics[f'sluice_activator_queue_wait_seconds_count{{start="{start}"}}'], 1)
        self.assertEqual(metrics['sluice_activator_queue_depth_count{start="cold"}'], 1)

    def test_a_revision_without_requests_has_no_series(self):
        self.platform.revision('quiet', pods=[])
        door = self.serving()
        door.get()
        self.assertFalse([name for name in door.metrics() if '"quiet"' in name])

    def test_rows_71_and_72_the_request_log_names_revision_and_trace(self):
        door = self.serving(environment={'OBSERVABILITY_CONFIG': json.dumps({
            'enableRequestLog': True, 'requestLogTemplate':
                '{{.Revision.Namespace}}/{{.Revision.Name}}/{{.Revision.Service}}/'
                '{{.Revision.Configuration}}/{{.Revision.PodName}} {{.Response.Code}} {{.TraceID}}'})})
        door.get(headers=[('traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01')])
        line = 'default/app/app// 200 0af7651916cd43dd8448eb211c80319c\n'
        eventually(lambda: line in door.output(), 'the line')
        quiet = self.activator(OBSERVABILITY_CONFIG=json.dumps(
            {'requestLogTemplate': '{{.Revision.Name}}'}))
        quiet.get()
        quiet.get(headers=[('K-Network-Probe', 'activator')])
        quiet.terminate()
        quiet.process.wait(20)
        self.assertEqual(quiet.output(), '')

    def test_row_70_a_template_that_is_not_understood_is_logged(self):
        door = self.serving(environment={'OBSERVABILITY_CONFIG': json.dumps(
            {'enableRequestLog': True, 'requestLogTemplate': '{{.Nothing}}'})})
        door.get('/logged')
        eventually(lambda: '/logged' in door.output(), 'the default line')
        self.assertIn('names an unknown field', door.errors())

    def test_a_bad_file_changes_nothing(self):
        door = self.serving()
        self.assertEqual(door.get().status, 200)
        (self.platform.path / 'revisions' / 'default.app.json').write_text('{', encoding='ascii')
        eventually(lambda: 'default.app.json' in door.errors(), 'named in the log')
        self.assertEqual(door.get().status, 200)


if __name__ == '__main__':
    unittest.main()
