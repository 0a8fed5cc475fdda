"""Annotations of a service that the front door of one machine follows: ignore rules and the load-balancing policy."""

import json
import textwrap
import threading
import unittest

from engine import APP, EngineCase

IGNORE = 'autoscaling.sluice.dev/ignore-paths'
AGENTS = 'autoscaling.sluice.dev/ignore-user-agents'
POLICY = 'sluice.dev/load-balancing'
AGENT = [('User-Agent', 'UptimeRobot/2.0')]


class FrontRules(EngineCase):
    def file(self, annotations):
        lines = '\n'.join(f'        {key}: {json.dumps(value)}' for key, value in annotations.items())
        return self.write('app.yaml', textwrap.dedent('''\
            apiVersion: serving.knative.dev/v1
            kind: Service
            metadata:
              name: app
            spec:
              template:
                metadata:
                  annotations:
            ''') + lines + textwrap.dedent(f'''
                spec:
                  containers:
                    - command: [python3, {APP}]
            ''').replace('\n', '\n    '))

    def up_with(self, annotations):
        return self.up('-f', self.file({'autoscaling.knative.dev/initial-scale': '0',
                                        'autoscaling.knative.dev/window': '6s', **annotations}))

    def replicas(self, engine):
        engine.mark()
        return [event for event in engine.events if event.get('type') == 'replica']

    def test_an_ignored_request_to_a_service_at_zero_starts_nothing(self):
        engine = self.up_with({IGNORE: '/healthz\n/metrics*', AGENTS: '(?i)uptime'})

        for path, headers in (('/healthz', ()), ('/metrics/cpu?x=1', ()), ('/', AGENT)):
            answer = engine.get(path, headers=headers)
            self.assertEqual(answer.status, 503, path)
            self.assertIn('asleep', answer.headers['sluice-error'])
            self.assertEqual(answer.headers['retry-after'], '1')

        self.assertEqual(self.replicas(engine), [])
        self.assertEqual(engine.get('/cart').status, 200)

    def test_ignored_requests_are_served_and_do_not_keep_a_service_awake(self):
        engine = self.up_with({IGNORE: '/healthz'})
        self.assertEqual(engine.get('/cart').status, 200)
        self.assertEqual(engine.get('/healthz').status, 200)
        awake = self.home.run('explain', 'app', '--awake').stdout
        self.assertIn('GET /cart', awake)
        self.assertNotIn('/healthz', awake)

        tick = threading.Event()
        stopped = lambda: any(event['state'] == 'stopped' for event in self.replicas(engine))
        for _ in range(400):
            if engine.get('/healthz').status == 503 and stopped():
                break
            tick.wait(0.1)

        self.assertTrue(stopped(), engine.status())

    def test_edited_rules_hold_for_the_next_request_without_a_new_revision(self):
        engine = self.up_with({IGNORE: '/healthz', 'autoscaling.knative.dev/window': '60s'})
        self.assertEqual(engine.get('/cart').status, 200)
        applied = self.home.run('apply', '-f', self.file({
            IGNORE: '/live', 'autoscaling.knative.dev/initial-scale': '0', 'autoscaling.knative.dev/window': '60s'}))
        self.assertEqual(applied.returncode, 0, applied.stderr)
        self.assertEqual(engine.status()['revision'], 'app-00001')
        self.assertEqual(self.home.run('sleep', 'app').returncode, 0)
        engine.wait_event('replica', state='stopped')

        self.assertEqual(engine.get('/live').status, 503)
        self.assertEqual(engine.get('/healthz').status, 200)

    def test_a_wrong_rule_is_refused_with_its_line_and_the_fix(self):
        for annotations, words in (({IGNORE: 'healthz'}, ('begin with /',)),
                                   ({AGENTS: '('}, ('not a valid RE2 expression',)),
                                   ({IGNORE + 's': '/healthz'}, ('is an unknown setting', IGNORE)),
                                   ({POLICY: 'fastest'}, ('`fastest`', 'round-robin'))):
            file = self.file(annotations)
            self.assert_refuses(78, 'app.yaml:9:', *words, arguments=('up', '--http', '127.0.0.1:0', '-f', file))

    def pids(self, engine, count):
        return [engine.get('/?id=x').body.split()[1] for _ in range(count)]

    def spread(self, policy):
        engine = self.up_with({POLICY: policy, 'autoscaling.knative.dev/min-scale': '2',
                               'autoscaling.knative.dev/initial-scale': '2'})
        engine.wait_status(lambda status: status['ready'] == 2)
        return self.pids(engine, 8)

    def test_first_available_leaves_the_later_replicas_idle(self):
        self.assertEqual(len(set(self.spread('first-available'))), 1)

    def test_round_robin_takes_turns(self):
        pids = self.spread('round-robin')
        self.assertEqual((len(set(pids)), pids[0::2].count(pids[0]), pids[1::2].count(pids[1])), (2, 4, 4))

    def test_another_policy_makes_a_new_revision(self):
        engine = self.up_with({POLICY: 'round-robin'})
        applied = self.home.run('apply', '-f', self.file({POLICY: 'first-available'}))
        self.assertEqual(applied.returncode, 0, applied.stderr)
        self.assertEqual(engine.status()['revision'], 'app-00002')


if __name__ == '__main__':
    unittest.main()
