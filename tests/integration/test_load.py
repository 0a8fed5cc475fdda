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

    def test_a_failed_expectation_exits_4(self):
        engine = self.up_app()
        done = self.home.run('load', f'http://{engine.http}/', '-n', '10', '--rate', '50',
                             '--fail-if', 'p50 > 0ms', timeout=60)
        self.assertEqual(done.returncode, 4, done.stderr)


if __name__ == '__main__':
    unittest.main()
