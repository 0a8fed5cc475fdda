"""Load on a sleeping, growing and limited service; the load generator's own report."""

import json
import resource
import unittest

from clients import Clients, Journal
from engine import EngineCase
from wire import Reader, connect, request_bytes


class Load(EngineCase):
    def test_five_thousand_clients_on_a_sleeping_service_are_all_answered_or_refused(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        count = min(5000, hard - 200)
        engine = self.up('--demo', '--name', 'app')
        sockets = [connect(engine.http, 60) for _ in range(count)]
        for sock in sockets:
            sock.sendall(request_bytes('GET', '/', 'app.localhost'))
        outcomes = {'answered': 0, 'refused': 0}
        for sock in sockets:
            with sock:
                answer = Reader(sock).answer()
                self.assertIsNotNone(answer)
                refused = 'sluice-error' in answer.headers
                self.assertTrue(refused or answer.status == 200)
                outcomes['refused' if refused else 'answered'] += 1
        self.assertEqual(sum(outcomes.values()), count)
        self.assertGreater(outcomes['answered'], 0)

    def test_container_concurrency_is_never_exceeded_inside_the_application(self):
        journal = self.home.path / 'journal'
        engine = self.up_app('--concurrency', '3', '--max', '3', env=[f'JOURNAL={journal}'])
        clients = Clients(engine, 40, 20)
        engine.wait_status(lambda status: status['ready'] == 3)
        self.wait_answers(engine, clients, 300)
        clients.stop()
        self.assertEqual(clients.lost, {})
        seen = Journal(journal)
        self.assertLessEqual(seen.most_running, 3)
        self.assertEqual(seen.doubled(), {})

    def wait_answers(self, engine, clients, count):
        engine.wait_status(lambda _: len(clients.answered) >= count)

    def test_the_load_generator_reports_sent_requests_and_answers(self):
        engine = self.up_app('--max', '2')
        report = self.home.path / 'run.json'
        done = self.home.run('load', f'http://{engine.http}/', '-H', 'Host: app.localhost', '--rate',
                             '50', '--duration', '3s', '--json', str(report), timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        requests = json.loads(report.read_text())['requests']
        self.assertGreater(requests['sent'], 80)
        self.assertEqual(requests['sent'], requests['answered'])

    def test_a_trace_is_understood_and_sent_again_with_its_safe_methods_alone(self):
        engine = self.up_app('--max', '2')
        trace = self.home.path / 'trace.csv'
        trace.write_text('at_s,method\n' + ''.join(
            f'{number / 20:.3f},{"POST" if number % 5 == 0 else "GET"}\n' for number in range(40)) + 'soon,GET\n')

        info = self.home.run('trace', 'info', str(trace))
        self.assertEqual(info.returncode, 0, info.stderr)
        for line in ('format      csv', 'requests    40', 'resolution  exact', '8 requests with other methods',
                     'skipped     1 line without a valid time (the first: 42)'):
            self.assertIn(line, info.stdout)

        report = self.home.path / 'run.json'
        done = self.home.run('load', f'http://{engine.http}/', '-H', 'Host: app.localhost', '--replay', str(trace),
                             '--speed', '2', '--times', '3', '--json', str(report), timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        written = json.loads(report.read_text())
        self.assertEqual(written['plan']['replay']['left_out'], 8)
        self.assertEqual(written['requests']['sent'], 96)
        self.assertEqual(written['requests']['answered'], 96)
        self.assertIn('left out', done.stdout)

    def test_a_trace_that_cannot_be_read_is_named_with_its_line(self):
        trace = self.home.path / 'trace.csv'
        trace.write_text('when\n1\n')
        info = self.home.run('trace', 'info', str(trace))
        self.assertEqual(info.returncode, 78)
        self.assertIn(f"'{trace}', line 1: no known format", info.stderr)
        sent = self.home.run('load', 'http://127.0.0.1:1/', '--replay', str(trace))
        self.assertEqual(sent.returncode, 2)
        self.assertIn('line 1: no known format', sent.stderr)

    def test_a_failed_expectation_exits_4(self):
        engine = self.up_app()
        done = self.home.run('load', f'http://{engine.http}/', '-n', '10', '--rate', '50',
                             '--fail-if', 'p50 > 0ms', timeout=60)
        self.assertEqual(done.returncode, 4, done.stderr)


class Scenarios(EngineCase):
    PLAN = """name: two-targets
arrivals: uniform
defaults: {{timeout: 10s, reuse: 5}}
targets:
  item: {{url: "http://app.localhost:{port}/?id={{n}}"}}
  gone: {{url: "http://gone.localhost:{port}/"}}
phases:
  - {{name: calm, for: 1s, rate: 20, mix: {{item: 1}}}}
  - {{name: both, for: 1s, rate: {{ramp: [20, 40]}}, mix: {{item: 2, gone: 1}}}}
  - {{name: recorded, replay: {{file: trace.csv}}, mix: {{item: 1}}}}
assert:
"""

    def plan(self, port, *assertions):
        """A file with 20, 30 and 2 requests, about 10 of them to a service that does not exist."""
        self.write('trace.csv', 'at_s\n0.0\n0.5\n')
        return self.write('plan.yaml', self.PLAN.format(port=port) + ''.join(
            f'  - {assertion}\n' for assertion in assertions))

    def load(self, *flags):
        """Runs plan.yaml: what it printed, and its report."""
        report = self.home.path / 'run.json'
        done = self.home.run('load', '--file', 'plan.yaml', '--json', str(report), *flags, timeout=60)
        return done, json.loads(report.read_text())

    def test_phases_go_to_their_targets_and_assertions_are_judged_by_target_and_phase(self):
        journal = self.home.path / 'journal'
        engine = self.up_app(env=[f'JOURNAL={journal}'])
        self.plan(engine.http.rsplit(':', 1)[1], 'errors == 0', 'item.non_2xx == 0', 'gone.status.404@both > 8',
                  'non_2xx@calm == 0', 'item.replicas.max >= 1')

        done, report = self.load()

        self.assertEqual(done.returncode, 4 if report['generator']['late'] else 0, done.stderr)
        self.assertEqual(report['name'], 'two-targets')
        self.assertEqual(report['plan']['reuse'], 5)
        self.assertEqual({row['expression']: row['holds'] for row in report['assert'][:5]},
                         {'errors == 0': True, 'item.non_2xx == 0': True, 'gone.status.404@both > 8': True,
                          'non_2xx@calm == 0': True, 'item.replicas.max >= 1': True})
        self.assertEqual(report['assert'][5]['expression'], 'generator == on_time')
        item, gone = (target['requests']['sent'] for target in report['targets'])
        calm, both, recorded = (phase['requests']['sent'] for phase in report['phases'])
        self.assertEqual((recorded, item + gone), (2, calm + both + recorded))
        for sent, planned in ((calm, 20), (both, 30), (gone, 10)):
            self.assertAlmostEqual(sent, planned, delta=1)
        self.assertEqual(Journal(journal).begun, {str(number): 1 for number in range(1, item + 1)})

    def test_an_assertion_that_does_not_hold_exits_4_and_is_named(self):
        engine = self.up_app()
        self.plan(engine.http.rsplit(':', 1)[1], 'item.non_2xx == 0', 'gone.non_2xx@both == 0')

        done, report = self.load()

        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn('gone.non_2xx@both == 0', done.stdout)
        self.assertEqual([row['holds'] for row in report['assert'][:2]], [True, False])

    def test_check_prints_the_plan_and_sends_nothing(self):
        plan = self.plan(1, 'p99 < 250ms')
        done = self.home.run('load', '--file', plan, '--check')
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ('two-targets: open loop, 3 phases in 2.6 s, 2 targets, 5 requests per connection',
                     'GET http://gone.localhost:1/', 'ramp 20-40', 'about 30 requests', 'item 66.7 %, gone 33.3 %',
                     'trace.csv (2 requests in', 'p99 < 250ms', 'generator == on_time'):
            self.assertIn(text, done.stdout)

    def test_a_wrong_plan_is_named_with_its_lines_before_a_request_is_sent(self):
        self.plan(1, 'p99 < 250', 'p99@nowhere < 1s')
        self.assert_refuses(78, 'plan.yaml:12: ', "'250' is no time", 'plan.yaml:13: ', "no phase 'nowhere'",
                            arguments=('load', '--file', 'plan.yaml', '--check'))
        self.plan(1, 'p99@nowhere < 1s')
        self.assert_refuses(1, 'plan.yaml:12: ', "no phase 'nowhere'", arguments=('load', '--file', 'plan.yaml'))


if __name__ == '__main__':
    unittest.main()
