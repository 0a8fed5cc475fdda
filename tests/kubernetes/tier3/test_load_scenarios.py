"""Scenarios of bench/scenarios against Deployments: real pods, their start times, and the same plans as on one machine.

What a plan asserts of requests has to hold. Its figures of an engine are not there; what they are of is asked of the API.
"""

import json
import re
import subprocess
import threading

from wire import eventually

from lab.chart import NAMESPACE, ROOT
from lab.installed import LONG, InstalledCase

SCENARIOS = ROOT / 'bench' / 'scenarios'
OF_AN_ENGINE = re.compile(r'^  - (cold_start|replicas|panics|time_to_zero)\b.*\n', re.MULTILINE)
# Pods of a node that shares its cores with all of Kubernetes start and answer later than processes: no bounds of time.
OF_TIME = re.compile(r'^  - (\w+\.)?p\d+(@[\w-]+)? .*\n', re.MULTILINE)
HOST = re.compile(r'"http://([^.]+)\.localhost:8080/')
RUN_SECONDS = 240
LOOK_SECONDS = 0.5


class MostReplicas(threading.Thread):
    """The most Ready pods of each Deployment while it runs."""

    def __init__(self, place, names):
        super().__init__(daemon=True)
        self.place, self.most, self.over = place, dict.fromkeys(names, 0), threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(LOOK_SECONDS):
            for name in self.most:
                self.most[name] = max(self.most[name], len(self.place.ready_pods(name)))

    def end(self):
        self.over.set()
        self.join()
        return self.most


class Scenarios(InstalledCase):
    def engine(self, name):
        """`--engine` for a Deployment: the API of the autoscaler, as through a port-forward."""
        found = self.api.get(f'/api/v1/namespaces/{NAMESPACE}/endpoints/autoscaler')
        return f'{self.place.name}/{name}@http://{found["subsets"][0]["addresses"][0]["ip"]}:8082'

    def run_scenario(self, name, followed=None, **autoscaling):
        """The report of `sluice load`, and the most Ready pods of each Deployment; the report follows one of them, or none."""
        plan = (SCENARIOS / name / 'plan.yaml').read_text(encoding='utf-8')
        hosts = sorted(set(HOST.findall(plan)))
        for host in hosts:
            self.workload(host)
            self.scale(host, {'window': '6s', **autoscaling})
        for host in hosts:
            self.wait_routed(host)
        plan = HOST.sub(lambda match: f'"http://{self.address(match[1])}/', plan)
        plan = OF_TIME.sub('', OF_AN_ENGINE.sub('', plan))
        file, report = self.lab.folder / f'{name}.yaml', self.lab.folder / f'{name}.json'
        file.write_text(plan, encoding='utf-8')
        seen = MostReplicas(self.place, hosts)
        try:
            done = subprocess.run([self.lab.program('sluice'), 'load', '--file', file, '--json', report, '--engine',
                                   self.engine(followed) if followed else 'off'], capture_output=True, text=True,
                                  timeout=RUN_SECONDS, check=False)
        finally:
            most = seen.end()
        print('\n' + done.stdout)
        self.assertIn(done.returncode, (0, 4), done.stdout + done.stderr + self.story())
        return json.loads(report.read_text()), most

    def assert_holds(self, report):
        """All assertions but that of the generator, which shares its cores with the cluster."""
        rows = {row['expression']: row['holds'] for row in report['assert']}
        self.assertIn('errors == 0', rows)
        self.assertEqual({text for text, holds in rows.items() if not holds} - {'generator == on_time'}, set(), self.story())

    def test_scale_from_zero_wakes_each_deployment_and_they_sleep_again(self):
        report, most = self.run_scenario('scale-from-zero', target=10, max=4)

        self.assert_holds(report)
        self.assertTrue(all(count >= 1 for count in most.values()), most)
        crowd = next(phase for phase in report['phases'] if phase['name'] == 'crowd')
        self.assertEqual(crowd['status'], {'200': 500})
        for name in most:
            self.asleep(name)

    def test_spike_is_served_by_more_pods_without_an_error(self):
        report, most = self.run_scenario('spike', followed='spike', target=10, max=10)

        self.assert_holds(report)
        self.assertGreaterEqual(most['spike'], 2)
        self.assertEqual(report['scaling']['service'], 'spike')
        self.assertGreaterEqual(report['scaling']['replicas_max'], 2)
        eventually(lambda: self.replicas('spike') < most['spike'], 'fewer pods after the spike', LONG)
