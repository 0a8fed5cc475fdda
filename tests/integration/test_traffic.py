"""Requests of a service are divided among its revisions: by percent, by tag, and back to an older one."""

import json
import pathlib
import socket
import unittest

from clients import Clients, Journal
from engine import APP, EngineCase
from wire import eventually

DOCUMENT = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: app
  annotations: {{sluice.dev/hosts: "app.example.test, shared.test/app"}}
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/initial-scale: "{initial}"
    spec:
      containers:
        - command: ["python3", "{app}"]
          env: [{{name: JOURNAL, value: "{journal}"}}]
'''
SPLIT = '''  traffic:
    - revisionName: app-00001
      percent: 90
      tag: stable
    - latestRevision: true
      percent: 10
'''


class TrafficCase(EngineCase):
    def journal(self, version):
        return self.home.path / f'journal-{version}'

    def document(self, version, traffic='', initial=0):
        return DOCUMENT.format(app=APP, journal=self.journal(version), initial=initial) + traffic

    def apply(self, version, traffic='', code=0, initial=0):
        """Applies a version, which is revision number `version` if each is applied once."""
        path = self.write('applied.yaml', self.document(version, traffic, initial))
        done = self.home.run('apply', '-f', path)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def up_with(self, versions):
        """An engine to which that many versions were applied, none of them started."""
        engine = self.up('--name', 'engine', '-f', self.write('other.yaml', self.other()))
        for version in range(1, versions + 1):
            self.apply(version)
        return engine

    def other(self):
        return self.document('other').replace('name: app\n', 'name: other\n', 1).replace(
            '  annotations: {sluice.dev/hosts: "app.example.test, shared.test/app"}\n', '')

    def traffic(self, *arguments, code=0):
        done = self.home.run('traffic', 'app', *arguments)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def revisions(self):
        """What `sluice revisions` lists, by name."""
        done = self.home.run('revisions', 'app', '-o', 'json')
        self.assertEqual(done.returncode, 0, done.stderr)
        return {each['revision']: each for each in json.loads(done.stdout)}

    def shares(self):
        return {name: (each['percent'], each['tags']) for name, each in self.revisions().items()}

    def ask(self, engine, count, host='app.localhost', path='/'):
        for number in range(count):
            self.assertEqual(engine.get(f'{path}?id={number}', host=host).status, 200)

    def served(self, version):
        """The requests that the programs of a version have written down."""
        path = self.journal(version)
        return sum(Journal(path).begun.values()) if path.exists() else 0


class Split(TrafficCase):
    def test_a_document_divides_requests_exactly_and_a_tag_has_a_host(self):
        engine = self.up_with(1)
        self.apply(2, SPLIT)
        self.assertEqual(self.shares(), {'app-00001': (90, ['stable']), 'app-00002': (10, [])})

        self.ask(engine, 100)
        self.assertEqual((self.served(1), self.served(2)), (90, 10))
        for host in ('stable-app.localhost', 'stable-app.example.test'):
            self.ask(engine, 5, host)
        self.assertEqual((self.served(1), self.served(2)), (100, 10))
        self.ask(engine, 20, 'app.example.test')
        self.ask(engine, 20, 'shared.test', '/app/x')
        self.assertEqual((self.served(1), self.served(2)), (136, 14))
        self.assertEqual(engine.get(host='stable-shared.test').status, 404)
        self.assertEqual(engine.stop(), 0)

    def test_a_tag_leads_to_a_revision_without_traffic(self):
        engine = self.up_with(2)
        self.traffic('--tag', 'app-00001=old')
        self.ask(engine, 3)
        self.ask(engine, 2, 'old-app.localhost')
        self.assertEqual((self.served(1), self.served(2)), (2, 3))
        self.traffic('--untag', 'old')
        self.assertEqual(engine.get(host='old-app.localhost').status, 404)

    def test_each_revision_has_its_own_name_where_services_are_shown(self):
        engine = self.up_with(2)
        self.traffic('app-00001=50,@latest=50')
        self.ask(engine, 4)
        listed = {each['name']: each for each in json.loads(self.home.run('get', '-o', 'json').stdout)}
        self.assertEqual([(listed[name]['revision'], listed[name]['ready']) for name in ('app', 'app-00001')],
                         [('app-00002', 1), ('app-00001', 1)])
        self.assertIn('revision app-00001', self.home.run('explain', 'app-00001').stdout)
        self.assertIn('app-00001', self.home.run('top').stdout)
        self.assertIn('app-00001', self.home.run('history', 'app-00001').stdout)
        self.assertIn(str(self.journal(1)), self.home.run('get', 'app-00001', '-o', 'yaml').stdout)
        self.assertIn('kn_revision_name="app-00001"', engine.get('/_sluice/metrics', host='localhost').body.decode())
        self.assertEqual(self.home.run('sleep', 'app-00001').returncode, 0)
        engine.wait_status(lambda status: status['state'] == 'asleep', service='app-00001')
        self.assertEqual(engine.status()['ready'], 1)

    def test_a_verb_takes_the_name_of_any_revision_that_runs(self):
        self.up_with(2)
        for name in ('app', 'app-00002'):
            self.assertEqual(self.home.run('wake', name).returncode, 0)
        self.assertIn('revision app-00002', self.home.run('explain', 'app-00002').stdout)
        self.assertIn('app-00002', self.home.run('history', 'engine/app-00002').stdout)
        self.assertIn('app-00002', self.home.run('get', 'app-00002').stdout)
        self.assertEqual(self.home.run('logs', 'app-00001').returncode, 0)
        self.assert_refuses(1, 'revision app-00001 of service app does not run', 'sluice traffic app app-00001=100',
                            arguments=('wake', 'app-00001'))
        self.assert_refuses(1, 'service app has no revision app-00003', arguments=('logs', 'app-00003'))
        self.assert_refuses(1, 'app-00002 is a revision of service app; name the service',
                            arguments=('delete', 'app-00002'))

    def test_a_service_hides_no_revision_of_its_name_that_has_requests_already(self):
        engine = self.up_with(2)
        self.divide()
        self.apply_namesake()
        self.check_namesake(engine)

    def test_a_revision_that_gets_requests_hides_no_service_of_its_name(self):
        engine = self.up_with(2)
        self.apply_namesake()
        self.divide()
        self.check_namesake(engine)

    def divide(self):
        self.traffic('app-00001=50,@latest=50')

    def apply_namesake(self):
        path = self.write('namesake.yaml', self.other().replace('name: other', 'name: app-00001'))
        self.assertEqual(self.home.run('apply', '-f', path).returncode, 0)

    def check_namesake(self, engine):
        """The service app-00001 has its name, and the revision of app has one of its own."""
        self.ask(engine, 2, 'app-00001.localhost')
        self.ask(engine, 2)
        self.assertEqual((self.served('other'), self.served(1), self.served(2)), (2, 1, 1))
        shown = json.loads(self.home.run('get', 'app-00001', '-o', 'json').stdout)
        self.assertEqual([each['id'] for each in shown['replicas']], ['app-00001-00001-1'])
        told = [self.home.run(*words).stdout for words in (
            ('explain', 'app-00001'), ('explain', 'app:app-00001'), ('get', 'app-00001', '-o', 'yaml'),
            ('get', 'app:app-00001', '-o', 'yaml'))]
        for text, word in zip(told, ('revision app-00001-00001,', 'revision app-00001,', str(self.journal('other')),
                                     str(self.journal(1)))):
            self.assertIn(word, text)
        self.assertEqual(self.home.run('get', '-o', 'yaml').returncode, 0)

        self.assertEqual(self.home.run('delete', 'app-00001').returncode, 0)
        self.assertIn('revision app-00001,', self.home.run('explain', 'app-00001').stdout)
        self.ask(engine, 2)

    def test_the_only_service_of_an_engine_is_divided_under_the_name_of_the_machine_too(self):
        engine = self.up('-f', self.write('app.yaml', self.document(1)))
        self.assertEqual(self.home.run('apply', '--write', '-f', self.write('next.yaml', self.document(2))).returncode, 0)
        self.traffic('app-00001=50,@latest=50')
        self.ask(engine, 10, 'localhost')
        self.assertEqual((self.served(1), self.served(2)), (5, 5))


class Way(TrafficCase):
    def test_the_way_back_to_an_older_revision_and_forward_again(self):
        engine = self.up_with(3)
        self.ask(engine, 2)
        done = self.traffic('app-00001=100')
        self.assertRegex(done.stdout, r'app-00003 \(latest\) +\w+ +\d +- ')
        self.assertRegex(done.stdout, r'app-00001 +\w+ +\d +100 %')
        self.ask(engine, 3)
        self.assertEqual([self.served(n) for n in (1, 2, 3)], [3, 0, 2])
        self.traffic('@latest=100')
        self.ask(engine, 2)
        self.assertEqual([self.served(n) for n in (1, 2, 3)], [3, 0, 4])
        eventually(lambda: self.revisions()['app-00001']['state'] == 'kept', 'the older one has drained')
        self.assertEqual(engine.stop(), 0)

    def test_the_way_back_of_a_program_with_a_fixed_port(self):
        with socket.socket() as taken:
            taken.bind(('127.0.0.1', 0))
            port = taken.getsockname()[1]
        engine = self.up_with(0)
        for version in (1, 2):
            text = self.document(version).replace('        autoscaling', f'        sluice.dev/port: "{port}"\n'
                                                  '        autoscaling')
            self.assertEqual(self.home.run('apply', '-f', self.write('fixed.yaml', text)).returncode, 0)
        self.ask(engine, 2)
        self.traffic('app-00001=100')
        self.ask(engine, 2)
        self.traffic('@latest=100')
        self.ask(engine, 2)
        self.assertEqual((self.served(1), self.served(2)), (2, 4))

    def test_a_roll_over_does_not_move_pinned_traffic(self):
        engine = self.up_with(1)
        self.traffic('app-00001=100')
        self.ask(engine, 1)
        done = self.apply(2, initial=1)
        self.assertIn('revision app-00002', done.stdout)
        self.assertIn('without requests: the traffic is app-00001=100', done.stdout)
        eventually(lambda: self.revisions()['app-00002']['latest'] and self.revisions()['app-00002']['ready'] == 1,
                   'the new revision has started its initial scale')
        self.assertEqual(self.shares(), {'app-00001': (100, []), 'app-00002': (0, [])})
        self.ask(engine, 5)
        self.assertEqual((self.served(1), self.served(2)), (6, 0))

    def test_no_request_is_lost_while_traffic_moves(self):
        engine = self.up_with(2)
        clients = Clients(engine, 6, 10)
        splits = ['app-00001=100', '@latest=100', 'app-00001=50,@latest=50', '@latest=100', 'app-00001=100',
                  'app-00001=20,app-00002=80', '@latest=100']
        for split in splits:
            self.traffic(split)
            sent = len(clients.answered)
            eventually(lambda: len(clients.answered) > sent + 50, 'requests are answered')
        clients.stop()
        self.assertEqual((clients.lost, clients.refused), ({}, set()))
        self.assertGreater(self.served(1), 50)
        self.assertGreater(self.served(2), 50)
        self.assertEqual(engine.stop(), 0)

    def test_no_request_is_lost_while_new_revisions_join_a_split(self):
        engine = self.up_with(1)
        self.traffic('app-00001=50,@latest=50')
        clients = Clients(engine, 6, 10)
        for version in range(2, 5):
            self.apply(version)
            eventually(lambda: self.shares()[f'app-0000{version}'] == (50, []), 'the new one has its part', 60)
        clients.stop()
        self.assertEqual((clients.lost, clients.refused), ({}, set()))
        self.assertEqual(engine.stop(), 0)


class Again(TrafficCase):
    def test_the_split_is_there_again_after_a_start(self):
        engine = self.up_with(2)
        self.traffic('app-00001=90,@latest=10', '--tag', 'app-00001=stable')
        before = self.shares()
        engine.kill()
        engine = self.up('--name', 'engine')
        self.assertEqual(self.shares(), before)
        self.ask(engine, 20)
        self.assertEqual((self.served(1), self.served(2)), (18, 2))
        self.ask(engine, 1, 'stable-app.localhost')
        self.assertEqual(self.served(1), 19)

    def test_a_document_without_traffic_leaves_what_was_chosen_and_one_with_it_ends_that(self):
        self.up_with(2)
        self.traffic('app-00001=100')
        self.apply(3)
        self.assertEqual(self.shares()['app-00001'], (100, []))
        done = self.apply(3, '  traffic: [{latestRevision: true, percent: 100}]\n')
        self.assertIn('traffic: app-00001=100 -> @latest=100', done.stdout)
        self.assertEqual(self.shares()['app-00003'], (100, []))

    def test_a_command_under_a_name_whose_traffic_is_pinned_is_warned_of(self):
        journal = f'JOURNAL={self.journal(1)}'
        engine = self.up('--name', 'app', '--env', journal, '--', 'python3', APP)
        self.traffic('app-00001=100')
        engine.stop()
        engine = self.up('--name', 'app', '--env', f'JOURNAL={self.journal(2)}', '--', 'python3', APP)
        engine.wait_event('warning', message='the command of this start gets no requests: the traffic of app is '
                          'app-00001=100')
        self.ask(engine, 1)
        self.assertEqual((self.served(1), self.served(2)), (1, 0))
        self.traffic('@latest=100')
        self.ask(engine, 1)
        self.assertEqual((self.served(1), self.served(2)), (1, 1))

    def test_removal_takes_the_revisions_along(self):
        engine = self.up_with(2)
        self.traffic('app-00001=50,@latest=50')
        self.ask(engine, 2)
        self.assertEqual(self.home.run('delete', 'app').returncode, 0)
        kept = self.home.path / 'xdg_state_home' / 'sluice' / 'engine' / 'revisions' / 'kept'
        self.assertEqual(sorted(path.name for path in kept.iterdir()), ['other-00001.yaml'])
        self.apply(1)
        self.assertEqual(self.shares(), {'app-00003': (100, [])})


    def test_the_yaml_of_a_service_has_the_traffic_that_was_chosen(self):
        self.up_with(2)
        self.traffic('app-00001=90,@latest=10', '--tag', 'app-00001=stable')
        before = self.shares()
        text = self.home.run('get', 'app', '-o', 'yaml').stdout
        self.assertIn('traffic:', text)
        self.traffic('@latest=100', '--untag', 'stable')
        self.assertNotIn('traffic:', self.home.run('get', 'app', '-o', 'yaml').stdout)
        self.assertEqual(self.home.run('apply', '-f', self.write('again.yaml', text)).returncode, 0)
        self.assertEqual(self.shares(), before)


class Refused(TrafficCase):
    def refuses(self, code, *words, arguments):
        self.assert_refuses(code, *words, arguments=('traffic', 'app', *arguments))

    def test_what_is_wrong_is_named_and_changes_nothing(self):
        self.up_with(2)
        before = self.shares()
        self.refuses(78, 'add up to 90, not to 100', arguments=['app-00001=90'])
        self.refuses(78, 'revision app-00009 of service app is not kept', 'app-00001, app-00002',
                     arguments=['app-00009=100'])
        self.refuses(78, 'tag `V1` is not a DNS label', arguments=['--tag', 'app-00001=V1'])
        self.refuses(78, 'no revision has the tag x', arguments=['--untag', 'x'])
        self.refuses(78, 'tag `app-00002` names a revision already', 'choose another tag',
                     arguments=['--tag', 'app-00001=app-00002'])
        self.refuses(78, 'tag `latest` names a revision already', arguments=['--tag', 'app-00001=latest'])
        self.refuses(78, 'tag a is given twice', arguments=['--tag', 'app-00001=a', '--tag', 'app-00002=a'])
        self.refuses(1, 'service app is defined in no watched file', 'leave --write out',
                     arguments=['app-00001=100', '--write'])
        self.refuses(2, '`app-00001=x` is not a share', arguments=['app-00001=x'])
        self.refuses(2, 'give REVISION=PERCENT', arguments=[])
        done = self.apply(2, SPLIT.replace('90', '80'), code=78)
        self.assertIn('applied.yaml:16: the percentages of `traffic` add up to 90', done.stderr)
        done = self.apply(2, SPLIT.replace('app-00001', 'app-00007'), code=78)
        self.assertIn('applied.yaml:16: revision app-00007 of service app is not kept', done.stderr)
        self.assertEqual(self.shares(), before)

    def test_a_host_of_a_tag_is_no_other_services(self):
        self.up_with(2)
        text = self.other().replace('name: other', 'name: v1-app')
        self.assertEqual(self.home.run('apply', '-f', self.write('v1.yaml', text)).returncode, 0)
        self.refuses(78, 'host v1-app.localhost is claimed twice: by service v1-app and by tag v1 of service app',
                     arguments=['--tag', 'app-00001=v1'])

    def test_a_host_of_a_service_is_not_that_of_another_services_tag(self):
        self.up_with(2)
        self.traffic('--tag', 'app-00001=v1')
        text = self.other().replace('name: other', 'name: v1-app')
        self.assert_refuses(78, 'host v1-app.localhost is claimed twice: by tag v1 of service app and by service v1-app',
                            arguments=('apply', '-f', self.write('v1.yaml', text)))

    def test_traffic_of_a_watched_file_is_changed_there(self):
        engine = self.up('-f', self.write('app.yaml', '# mine\n' + self.document(1)))
        self.traffic('--tag', 'app-00001=first')
        path = pathlib.Path(self.home.path / 'app.yaml')
        path.write_text('# mine\n' + self.document(2, SPLIT.replace('percent: 90', 'percent: 90  # most')))
        eventually(lambda: self.shares().get('app-00001') == (90, ['stable']), 'the file is read')
        before = path.read_text()

        self.refuses(1, 'has its traffic in', 'sluice traffic --write', arguments=['@latest=100'])
        self.assertEqual(path.read_text(), before)

        self.traffic('stable=50,@latest=50', '--write')
        after = path.read_text()
        self.assertEqual(after[:after.index('  traffic:')], before[:before.index('  traffic:')])
        self.assertIn('    - revisionName: app-00001\n      percent: 50\n      tag: "stable"\n', after)
        self.assertEqual(self.shares(), {'app-00001': (50, ['stable']), 'app-00002': (50, [])})
        self.ask(engine, 10)
        self.assertEqual((self.served(1), self.served(2)), (5, 5))

    def test_a_file_that_names_a_revision_which_is_not_kept_is_refused_at_the_start(self):
        path = self.write('app.yaml', self.document(1, SPLIT.replace('app-00001', 'app-00004')))
        self.assert_refuses(78, 'app.yaml:16: revision app-00004 of service app is not kept',
                            arguments=('up', '--http', '127.0.0.1:0', '-f', path))


if __name__ == '__main__':
    unittest.main()
