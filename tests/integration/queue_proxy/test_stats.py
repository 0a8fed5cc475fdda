"""The scrape endpoint: rows 20 and 49 to 51, and what counts as concurrency."""

import concurrent.futures
import unittest

from protowire import parse_flat
from queue_proxy.case import SidecarCase, eventually
from wire import fetch, request_bytes

POD, CONCURRENCY, PROXIED_CONCURRENCY, REQUESTS, PROXIED_REQUESTS, UPTIME, TIMESTAMP = range(1, 8)


class Scrape(SidecarCase):
    def test_row_49_before_the_first_tick_there_is_only_a_name(self):
        proxy = self.sidecar()
        # The first report comes after one second; a scrape right behind the ready line is before.
        answer = fetch(proxy.stats, '/metrics')
        self.assertEqual(parse_flat(answer.body), {POD: b'app-00001-1'})

    def test_row_50_whatever_is_accepted_it_is_protobuf(self):
        proxy = self.sidecar()
        for accept in ('text/plain', 'application/protobuf', 'application/openmetrics-text', '*/*'):
            for method in ('GET', 'POST'):
                answer = fetch(proxy.stats, '/metrics', method=method, headers=[('Accept', accept)])
                self.assertEqual(answer.status, 200)
                self.assertEqual(answer.headers['content-type'], 'application/protobuf')
                self.assertEqual(parse_flat(answer.body)[POD], b'app-00001-1')

    def test_another_path_is_404(self):
        proxy = self.sidecar()
        self.assert_answer(fetch(proxy.stats, '/other'), 404, b'404 page not found\n')

    def test_the_longest_name_fits_the_limit_of_the_autoscaler(self):
        proxy = self.sidecar(SERVING_POD='p' * 253)
        eventually(lambda: UPTIME in self.scrape(proxy), 'the first report')
        answer = fetch(proxy.stats, '/metrics')
        self.assertLessEqual(len(answer.body), 336)
        self.assertNotIn(TIMESTAMP, parse_flat(answer.body))


class Counting(SidecarCase):
    def counted(self, proxy, requests):
        """The reports in which requests were counted, until `requests` of them have been."""
        reports = {}

        def look():
            report = self.scrape(proxy)
            reports[report.get(UPTIME, 0.0)] = report
            return sum(one.get(REQUESTS, 0.0) for one in reports.values()) >= requests

        eventually(look, f'{requests} requests are reported')
        return list(reports.values())

    def test_row_20_requests_of_an_activator_are_counted_apart(self):
        proxy = self.sidecar()
        for headers in ([('K-Proxy-Request', 'activator')], [], [('K-Proxy-Request', 'Activator')]):
            self.assertEqual(proxy.get(headers=headers).status, 200)
        reports = self.counted(proxy, 3)
        self.assertEqual(sum(one.get(REQUESTS, 0.0) for one in reports), 3)
        self.assertEqual(sum(one.get(PROXIED_REQUESTS, 0.0) for one in reports), 1)

    def test_row_20_the_activators_mark_is_forwarded_to_the_container(self):
        proxy = self.sidecar()
        self.assertEqual(proxy.get(headers=[('K-Proxy-Request', 'activator')]).status, 200)
        self.assertEqual(self.seen()['k-proxy-request'], 'activator')

    def test_row_19_probes_past_the_breaker_are_not_counted(self):
        proxy = self.sidecar()
        marked = [('K-Kubelet-Probe', 'x'), ('User-Agent', 'curl')]
        agent = [('User-Agent', 'kube-probe/1'), ('K-Network-Probe', 'queue')]
        for headers in (marked, agent, []):
            self.assertEqual(proxy.get(headers=headers).status, 200)
        reports = self.counted(proxy, 1)
        self.assertEqual(sum(one.get(REQUESTS, 0.0) for one in reports), 1)

    def test_waiting_in_the_queue_is_concurrency(self):
        gate = self.gate()
        proxy = self.sidecar(gate, CONTAINER_CONCURRENCY='1')
        for n in range(3):
            self.ask(proxy, request_bytes('GET', f'/{n}', 'app', [('K-Proxy-Request', 'activator')]))
        eventually(lambda: self.scrape(proxy).get(CONCURRENCY) == 3.0,
                   'one runs, two wait: a report shows three')
        self.assertEqual(self.scrape(proxy)[PROXIED_CONCURRENCY], 3.0)
        self.assertEqual(gate.most, 1)

    def test_a_request_that_matches_an_ignore_rule_is_served_and_not_counted(self):
        proxy = self.sidecar(SLUICE_IGNORE_PATHS='/healthz\n/metrics*',
                             SLUICE_IGNORE_USER_AGENTS='(?i)uptime\n(')
        activator = ('K-Proxy-Request', 'activator')
        for path, headers in (('/healthz', []), ('/metrics/cpu', [activator]),
                              ('/', [('User-Agent', 'UptimeRobot')]), ('/cart', [activator])):
            self.assertEqual(proxy.get(path, headers=headers).status, 200)
        reports = self.counted(proxy, 1)
        self.assertEqual(sum(one.get(REQUESTS, 0.0) for one in reports), 1)
        self.assertEqual(sum(one.get(PROXIED_REQUESTS, 0.0) for one in reports), 1)
        self.assertEqual(len(self.upstream.seen), 4)
        self.assertIn('not a valid RE2 expression', proxy.errors())

    def test_a_request_that_matches_an_ignore_rule_still_takes_a_place(self):
        gate = self.gate()
        proxy = self.sidecar(gate, CONTAINER_CONCURRENCY='1', SLUICE_IGNORE_PATHS='/healthz')
        for path in ('/healthz', '/cart', '/healthz'):
            self.ask(proxy, request_bytes('GET', path, 'app'))
        eventually(lambda: self.scrape(proxy).get(CONCURRENCY) == 1.0, 'only one is reported')
        self.assertEqual(gate.most, 1)

    def test_a_refused_request_is_counted_as_one_of_no_length(self):
        gate = self.gate()
        proxy = self.sidecar(gate, CONTAINER_CONCURRENCY='1', SLUICE_QUEUE_DEPTH='1')
        with concurrent.futures.ThreadPoolExecutor(5) as pool:
            asked = [pool.submit(proxy.get) for _ in range(5)]
            reports = self.counted(proxy, 5)
            gate.open()
            statuses = sorted(one.result().status for one in asked)
        self.assertEqual(statuses, [200, 200, 503, 503, 503])
        self.assertEqual(sum(one.get(REQUESTS, 0.0) for one in reports), 5)


if __name__ == '__main__':
    unittest.main()
