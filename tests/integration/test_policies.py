"""Policies of config.yaml (`placement`): which service is moved, taken over while the engine runs, and checked."""

import json
import os
import unittest

from engine import APP, EngineCase, wait_until
from wire import connect, fetch, request_bytes

GROUPS = '''groups:
  - {name: fast, preference: 0, replicas: 2}
  - {name: slow, preference: 1, replicas: 20}
'''
PLACEMENT = '''placement:
  minimum-age: 0s
  cool-down: 0s
  policies:
    - {name: mine, triggers: [full], algorithms: [{name: in-flight, direction: DIRECTION}]}
'''
DOCUMENT = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata: {{name: {name}}}
spec:
  template:
    metadata: {{annotations: {annotations}}}
    spec:
      containers:
        - command: {command}
          env: [{{name: APP, value: "{app}"}}]
'''


# Three ways to rank what runs.
MEASURED = '''minimum-age: 0s
policies:
  - {name: idle, triggers: [full], algorithms: [{name: cpu-utilization}]}
  - {name: spread, triggers: [drain], algorithms: [{name: dispersion}]}
  - {name: quick, triggers: [home], algorithms: [{name: restart-cost}]}
'''
# Keeps a core busy, and takes a second to start.
BUSY = '''
import os, runpy, threading
threading.Event().wait(1)
def burn():
    while True:
        pass
threading.Thread(target=burn, daemon=True).start()
runpy.run_path(os.environ['APP'], run_name='__main__')
'''


def rules(direction):
    return PLACEMENT.replace('DIRECTION', direction)


class Policies(EngineCase):
    def configured(self, text):
        """The configuration, as a whole or not at all."""
        path = self.home.path / 'config.yaml'
        fresh = self.home.path / 'config.new'
        fresh.write_text(text, encoding='utf-8')
        os.replace(fresh, path)
        return str(path)

    def document(self, name, command=('python3', APP), **keys):
        scale = {f'autoscaling.knative.dev/{key}-scale': '1' for key in ('min', 'max', 'initial')}
        wishes = {f'placement.sluice.dev/{key}': value for key, value in keys.items()}
        return self.write(f'{name}.yaml', DOCUMENT.format(name=name, command=json.dumps(command), app=APP,
                                                          annotations=json.dumps({**scale, **wishes})))

    def full(self, direction):
        """pay and shop fill `fast`, and a request of pay goes on for as long as the test."""
        files = [part for name in ('pay', 'shop') for part in ('-f', self.document(name))]
        engine = self.up('--config', self.configured(GROUPS + rules(direction)), *files)
        for name in ('pay', 'shop'):
            engine.wait_status(lambda status: status['ready'] == 1, service=name)
        held = connect(engine.http)
        self.addCleanup(held.close)
        held.sendall(request_bytes('GET', '/?ms=60000', 'pay.localhost'))
        engine.wait_status(lambda status: status['in_flight'] == 1, service='pay')
        # None is moved before it has run for twice the time of a start.
        file = self.write('rules.yaml', rules(direction))
        wait_until(lambda: 'may move from' not in self.check(file).stdout, 30, 'services that may be moved')
        return engine

    def moved_for_who_waits(self, engine):
        """Which service leaves `fast` when one that may run nowhere else is added."""
        applied = self.home.run('apply', '-f', self.document('auth', pin='fast'))
        self.assertEqual(applied.returncode, 0, applied.stderr)
        moves = []

        def begun():
            moves[:] = fetch(engine.http, '/_sluice/api/v1/moves', host='localhost').json()['items']
            return moves

        wait_until(begun, 30, 'a move out of fast')
        return [(move['service'], move['from'], move['cause']) for move in moves]

    def check(self, *arguments, code=0):
        done = self.home.run('policy', 'check', *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_the_policy_that_names_the_cause_chooses(self):
        self.assertEqual(self.moved_for_who_waits(self.full('low-first')), [('shop', 'fast', 'full')])

    def test_a_policy_swapped_while_the_engine_runs_decides_over_the_next_move(self):
        engine = self.full('low-first')
        self.configured(GROUPS + 'max-replicas: 150\n' + rules('high-first'))
        taken = engine.wait_event('engine', event='settings')
        self.assertEqual(taken['keys'], ['placement.policies'])
        warning = engine.wait_event('warning')
        self.assertTrue(warning['message'].endswith('config.yaml: max-replicas changed: takes effect at the next start'),
                        warning)

        mark = engine.mark()
        self.configured(GROUPS + rules('sideways') + 'max-replicas: 150\n')
        wrong = engine.wait_event('error')
        self.assertIn('config.yaml:8: `direction` is `sideways`', wrong['message'])

        self.assertEqual(self.moved_for_who_waits(engine), [('pay', 'fast', 'full')])
        later = engine.events[mark:engine.mark()]
        self.assertEqual([event for event in later if 'next start' in event.get('message', '')], [])
        self.assertEqual(len([event for event in later if event['type'] == 'error']), 1)

    def test_a_group_that_is_gone_from_the_file_is_drained_then_goes(self):
        engine = self.up('--config', self.configured(GROUPS), '-f', self.document('pay'))
        engine.wait_status(lambda status: status['ready'] == 1, service='pay')
        self.configured(GROUPS.replace('  - {name: fast, preference: 0, replicas: 2}\n', ''))
        warning = engine.wait_event('warning')
        self.assertEqual(warning['message'], 'group fast is gone from the settings: it is drained, then it goes')
        engine.wait_event('place', name='fast', state='gone')
        places = json.loads(self.home.run('places', '-o', 'json').stdout)
        self.assertEqual([(place['name'], [each['name'] for each in place['services']]) for place in places],
                         [('slow', ['pay'])])
        self.assertEqual(engine.get(host='pay.localhost').status, 200)

        self.configured(GROUPS)
        again = engine.wait_event('warning', message=f'{self.home.path}/config.yaml: groups changed: takes effect at '
                                  'the next start')
        self.assertTrue(again)

    def test_check_prints_what_each_policy_would_choose_now_and_moves_nothing(self):
        engine = self.full('low-first')
        file = self.write('policies.yaml', 'minimum-age: 0s\n' + '''policies:
  - {name: busiest, triggers: [full, home], algorithms: [{name: in-flight, direction: high-first}]}
  - {name: unused, triggers: [home]}
''')
        said = self.check(file).stdout
        self.assertIn('policies.yaml is right: 2 policies\n', said)
        self.assertIn('busiest  order, fewest; for full, home\n', said)
        self.assertIn('unused  order, fewest; never used: others come first\n', said)
        self.assertIn('default  order, fewest; for drain\n', said)

        answer = json.loads(self.check(file, '-o', 'json').stdout)
        chosen = {policy['name']: [(each['service'], each['why']) for each in policy['places'][0]['services']]
                  for policy in answer['policies']}
        self.assertEqual(chosen['busiest'], [('pay', 'first'), ('shop', 'after pay by in-flight')])
        self.assertEqual(chosen['default'], [('shop', 'first'), ('pay', 'after shop by in-flight')])
        busiest, _, _ = answer['policies']
        self.assertEqual(busiest['places'][0]['services'][0]['values'], [{'algorithm': 'in-flight', 'value': 1.0}])
        self.assertEqual(fetch(engine.http, '/_sluice/api/v1/moves', host='localhost').json()['items'], [])
        through_the_door = fetch(engine.http, '/_sluice/api/v1/placement/check', host='localhost', method='POST')
        self.assertEqual(through_the_door.status, 403)

    def measured(self, file):
        """{policy: {service in fast: value}}, with their orders, once the CPU of each is known."""
        found = {}

        def known():
            for policy in json.loads(self.check(file, '-o', 'json').stdout)['policies']:
                fast = next(place for place in policy['places'] if place['place'] == 'fast')
                found[policy['name']] = {each['service']: each['values'][0]['value'] for each in fast['services']}
            return len(found['idle']) == 3 and None not in found['idle'].values()

        wait_until(known, 30, f'measures in {found}')
        return found

    def test_services_are_ranked_by_what_was_measured_of_them(self):
        busy = self.document('busy', command=['python3', self.write('busy.py', BUSY)])
        files = [part for path in (busy, self.document('calm', application='shop'),
                                   self.document('lone'),
                                   self.document('other', application='shop', pin='slow')) for part in ('-f', path)]
        groups = GROUPS.replace('replicas: 2}', 'replicas: 3, cpus: "0"}')
        engine = self.up('--config', self.configured(groups), *files)
        for name in ('busy', 'calm', 'lone', 'other'):
            engine.wait_status(lambda status: status['ready'] == 1, service=name)
        found = self.measured(self.write('policies.yaml', MEASURED))

        idle, spread, quick = found['idle'], found['spread'], found['quick']
        self.assertEqual(list(idle)[2], 'busy', idle)
        self.assertGreater(idle['busy'], max(idle['calm'], idle['lone']))
        # calm is of the application that is in both of two places.
        self.assertEqual(list(spread)[0], 'calm', spread)
        self.assertEqual(spread, {'calm': 1.0, 'busy': 0.0, 'lone': 0.0})
        self.assertEqual(list(quick)[2], 'busy', quick)
        self.assertGreaterEqual(quick['busy'], 1.0)
        self.assertGreater(min(quick.values()), 0)

        # What the cores of fast are used for, and where replicas are.
        fast = next(line for line in self.home.run('places').stdout.splitlines() if line.startswith('fast'))
        self.assertRegex(fast, r'^fast +0 +ready +3 of 3 +\d\.\d of 1 ')
        (place, _) = json.loads(self.home.run('places', '-o', 'json').stdout)
        self.assertEqual(place['cores'], 1)
        self.assertGreater(place['cpu_use_millicores'], 0)
        wide = self.home.run('get', '-o', 'wide').stdout.splitlines()
        self.assertIn('PLACES', wide[0])
        self.assertIn('  slow 1  ', next(line for line in wide if line.startswith('other')))

    def test_a_service_is_not_moved_for_another_of_its_application(self):
        files = [part for name in ('pay', 'shop') for part in ('-f', self.document(name, application='web'))]
        engine = self.up('--config', self.configured(GROUPS + rules('low-first')), *files)
        for name in ('pay', 'shop'):
            engine.wait_status(lambda status: status['ready'] == 1, service=name)
        applied = self.home.run('apply', '-f', self.document('auth', application='web', pin='fast'))
        self.assertEqual(applied.returncode, 0, applied.stderr)
        engine.wait_status(lambda status: 'fast is full' in status['why'], service='auth')
        # Of another application: it moves what auth may not.
        applied = self.home.run('apply', '-f', self.document('other', application='ads', pin='fast'))
        self.assertEqual(applied.returncode, 0, applied.stderr)
        engine.wait_event('move', over=True)
        engine.wait_status(lambda status: status['ready'] == 1, service='other')
        self.assertEqual(engine.status('auth')['ready'], 0)

    def test_check_without_an_engine_judges_the_file(self):
        self.assertIn('is right: 1 policy; no engine runs', self.check(self.configured(rules('low-first'))).stdout)
        wrong = self.write('wrong.yaml', '''policies:
  - name: a
    algorithms:
      - {name: in-fligt}
  - {name: b, mode: scoring, algorithms: [{name: in-flight, weight: 0}]}
''')
        done = self.check(wrong, code=78)
        self.assertIn('wrong.yaml:4: policy `a`: unknown algorithm `in-fligt`; did you mean `in-flight`? there are '
                      'cpu-utilization, ', done.stderr)
        self.assertIn('wrong.yaml:5: policy `b` scores, and no algorithm has a weight above 0', done.stderr)
        self.assertEqual(len(json.loads(self.check(wrong, '-o', 'json', code=78).stdout)['problems']), 2)
        self.assert_refuses(78, 'config.yaml:5: `direction` is `up`',
                            arguments=['up', '--config', self.configured(rules('up')), '--', 'sleep', '9'])


if __name__ == '__main__':
    unittest.main()
