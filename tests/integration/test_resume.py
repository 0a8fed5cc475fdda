"""What ran comes back: after a reboot, after `apply`, after `down`, whatever files and state say."""

import json
import shutil
import subprocess
import threading
import unittest

from engine import APP, EngineCase, SLUICE, alive, wait_until

SERVICE = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: {name}
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/initial-scale: "0"
    spec:
      # {name}
      containers:
        - command: ["python3", "{app}"]
          env: [{{name: VERSION, value: "{version}"}}]
'''


def service(name, version=1):
    return SERVICE.format(name=name, app=APP, version=version)


class ResumeCase(EngineCase):
    def services(self):
        """Name and revision of each."""
        done = self.home.run('get', '-o', 'json')
        return {each['name']: each['revision'] for each in json.loads(done.stdout)} if done.returncode == 0 else {}

    def apply(self, name, version=1, code=0, *flags):
        done = self.home.run('apply', *flags, '-f', self.write(f'{name}.applied.yaml', service(name, version)))
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def reboot(self, engine):
        """The engine is killed and what is in memory of the machine is gone; the state is kept."""
        engine.kill()
        runtime = self.home.environment['XDG_RUNTIME_DIR']
        shutil.rmtree(f'{runtime}/sluice')

    def warnings(self, engine, word):
        return [event['message'] for event in engine.events[:engine.mark()]
                if event['type'] == 'warning' and word in event['message']]

    def state(self, engine='app'):
        return self.home.path / 'xdg_state_home' / 'sluice' / engine


class Resume(ResumeCase):
    def test_everything_is_back_after_a_reboot_and_numbers_go_on(self):
        watched = self.home.path / 'watched'
        watched.mkdir()
        (watched / 'file.yaml').write_text(service('file'))
        engine = self.up('--name', 'all', '-f', str(watched))
        self.apply('applied')
        self.apply('applied', 2)
        self.assertEqual(self.home.run('up', '-d', '--name', 'command', '--', 'python3', APP).returncode, 0)
        (watched / 'file.yaml').write_text(service('file', 2))
        before = {'file': 'file-00002', 'applied': 'applied-00002', 'command': 'command-00001'}
        wait_until(lambda: self.services() == before, 10, 'the file was read')
        self.reboot(engine)
        (watched / 'file.yaml').write_text(service('file', 3))

        engine = self.up('--name', 'all')

        self.assertEqual(self.services(), {**before, 'file': 'file-00003'})
        for name in before:
            self.assertEqual(engine.get(host=f'{name}.localhost').status, 200, name)
        (watched / 'file.yaml').write_text(service('file', 4))
        wait_until(lambda: self.services()['file'] == 'file-00004', 10, 'the file is watched again')
        self.assertIn('revision applied-00003', self.apply('applied', 3).stdout)

    def test_what_is_invalid_or_gone_blocks_no_start_and_is_named(self):
        watched = self.home.path / 'watched'
        watched.mkdir()
        (watched / 'good.yaml').write_text(service('good'))
        (watched / 'bad.yaml').write_text(service('bad').replace('command', 'comand'))
        engine = self.up('--name', 'all', '-f', str(watched))
        self.assertEqual(self.services(), {'good': 'good-00001'})
        self.assertIn('bad.yaml:', engine.wait_event('error')['message'])
        (watched / 'bad.yaml').write_text(service('bad'))
        wait_until(lambda: 'bad' in self.services(), 10, 'the file was corrected')
        self.assertEqual(engine.stop(), 0)

        shutil.rmtree(watched)
        done = self.home.run('up', '-d', '--name', 'all', '--http', '127.0.0.1:0')
        self.addCleanup(self.home.run, 'down')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f'warning: {watched} is gone; its services are not resumed', done.stderr)

    def test_a_broken_file_keeps_its_services_and_holds_up_no_other(self):
        watched = self.home.path / 'watched'
        watched.mkdir()
        for name in ('bad', 'gone', 'good'):
            (watched / f'{name}.yaml').write_text(service(name))
        engine = self.up('--name', 'all', '-f', str(watched))
        (watched / 'bad.yaml').write_text(service('bad').replace('command', 'comand'))
        self.assertIn('bad.yaml:', engine.wait_event('error')['message'])
        (watched / 'good.yaml').write_text(service('good', 2))
        (watched / 'gone.yaml').unlink()
        after = {'bad': 'bad-00001', 'good': 'good-00002'}
        wait_until(lambda: self.services() == after, 10, 'the other files took effect')

        (watched / 'copy.yaml').write_text(service('good', 3) + '---\n' + service('new'))
        after['new'] = 'new-00001'
        wait_until(lambda: self.services() == after, 10, 'what two files define stays')
        (watched / 'bad.yaml').unlink()
        (watched / 'good.yaml').unlink()
        del after['bad']
        after['good'] = 'good-00003'
        wait_until(lambda: self.services() == after, 10, 'a file that is gone, broken or not, takes its services')

    def test_a_unit_of_an_init_system_has_everything_back(self):
        watched = self.home.path / 'services'
        watched.mkdir()
        (watched / 'file.yaml').write_text(service('file'))
        unit = ('--engine', 'services', '-f', str(watched))
        self.home.environment['NOTIFY_SOCKET'] = str(self.home.path / 'notify')
        engine = self.up(*unit)
        self.apply('applied', 5)
        self.reboot(engine)
        self.up(*unit)
        self.assertEqual(self.services(), {'file': 'file-00001', 'applied': 'applied-00001'})

    def test_a_command_is_resumed_by_its_name(self):
        engine = self.up_app('--name', 'shop')
        first = engine.http
        self.assertEqual(engine.get(host='shop.localhost').status, 200)
        self.assertEqual(engine.stop(), 0)
        engine = self.up('--name', 'shop', http=first)
        self.assertIn('cold start', self.home.run('explain', 'shop', '--last-cold-start').stdout)
        self.assertNotIn('no cold start', self.home.run('explain', 'shop', '--last-cold-start').stdout)
        self.assertEqual(self.services(), {'shop': 'shop-00001'})
        self.assertEqual(engine.get(host='shop.localhost').status, 200)
        self.assert_refuses(69, 'already running', str(engine.pid), arguments=['up', '--name', 'shop'])

    def test_another_command_takes_the_name_and_the_next_number(self):
        self.assertEqual(self.up_app().stop(), 0)
        self.up('--', 'python3', APP, 'other')
        self.assertEqual(self.services(), {'app': 'app-00002'})

    def test_a_session_that_ended_with_its_engine_is_resumed_by_name_only(self):
        engine = self.up_app()
        self.write('shop.yaml', service('shop'))
        sessions = [threading.Thread(target=self.home.run, args=('up', *arguments))
                    for arguments in (('--', 'python3', APP), ('-f', 'shop.yaml'))]
        for session in sessions:
            session.start()
        both = {'app': 'app-00001', 'python3': 'python3-00001', 'shop': 'shop-00001'}
        wait_until(lambda: self.services() == both, 10, 'the sessions joined')
        engine.stop()
        for session in sessions:
            session.join()

        engine = self.up('--name', 'app')
        self.assertEqual(self.services(), both)
        engine.stop()
        self.up_app()
        self.assertEqual(self.services(), {'app': 'app-00001'})

    def test_nothing_to_resume_is_2_with_the_three_forms(self):
        self.assertEqual(self.up_app('--name', 'shop').stop(), 0)
        self.assert_refuses(2, 'engine nothing has nothing to resume; others have: shop', 'sluice up -f', '--demo',
                            arguments=['up', '--name', 'nothing'])

    def test_an_engine_that_has_run_is_started_beside_another(self):
        self.assertEqual(self.up_app('--name', 'shop').stop(), 0)
        self.up_app('--name', 'web')
        again = self.up('--name', 'shop', '--', 'python3', APP)
        self.assertEqual(again.get(host='shop.localhost').status, 200)


class Owners(ResumeCase):
    def test_a_kept_spec_blocks_no_start_and_the_file_wins(self):
        engine = self.up_app()
        self.apply('ver', 7)
        self.assertEqual(engine.stop(), 0)
        path = self.write('ver.yaml', service('ver', 8))

        engine = self.up('--name', 'app', '-f', path)

        wait_until(lambda: self.warnings(engine, f'service ver is taken from {path}, which is watched'), 10,
                   'a line about the owner')
        self.assertIn('value: "8"', self.home.run('get', 'ver', '-o', 'yaml').stdout)
        self.assertEqual(list(self.state().glob('specs/*')), [])

    def test_the_file_wins_when_it_changes(self):
        path = self.write('ver.yaml', service('other'))
        engine = self.up('--name', 'app', '-f', path)
        self.apply('ver', 7)
        self.write('ver.yaml', service('other') + '---\n' + service('ver', 8))
        wait_until(lambda: self.warnings(engine, f'service ver is taken from {path}'), 10, 'a line about the owner')
        self.assertEqual(self.services()['ver'], 'ver-00002')

    def test_a_kept_spec_that_cannot_run_is_one_warning(self):
        engine = self.up_app()
        self.apply('ver')
        self.assertEqual(engine.stop(), 0)
        kept = self.state() / 'specs' / 'ver.yaml'
        kept.write_text(kept.read_text().replace('python3', 'pyhton3'))
        (self.state() / 'specs' / 'broken.yaml').write_text('kind: [')
        engine = self.up_app()
        self.assertEqual(self.services(), {'app': 'app-00001'})
        self.assertEqual(len(self.warnings(engine, 'ver is not resumed: command not found')), 1)
        self.assertEqual(len(self.warnings(engine, 'broken.yaml')), 1)

    def test_apply_names_the_watched_file_and_writes_into_it(self):
        text = '# The services.\n' + service('one') + '---\n' + service('ver') + '---\n' + service('two')
        path = self.write('all.yaml', text)
        (self.home.path / 'all.yaml').chmod(0o640)
        self.up('--name', 'app', '-f', path)

        refused = self.apply('ver', 9, 1)
        self.assertIn(f'service ver is defined in {path}', refused.stderr)
        self.assertIn('--write', refused.stderr)
        self.assertIn('env VERSION: ', self.apply('ver', 9, 0, '--write', '--dry-run').stdout)
        self.assertEqual((self.home.path / 'all.yaml').read_text(), text)

        self.assertIn('service new is defined in no watched file', self.apply('new', 1, 1, '--write').stderr)
        done = self.apply('ver', 9, 0, '--write')

        self.assertIn(f'ver configured, revision ver-00002, in {path}', done.stdout)
        self.assertEqual((self.home.path / 'all.yaml').read_text(), text.replace(service('ver'), service('ver', 9)))
        self.assertEqual((self.home.path / 'all.yaml').stat().st_mode & 0o777, 0o640)
        self.assertEqual(self.services(), {'one': 'one-00001', 'ver': 'ver-00002', 'two': 'two-00001'})

    def test_apply_of_a_directory_applies_its_files(self):
        self.up('--name', 'engine', '-f', self.write('other.yaml', service('other')))
        directory = self.home.path / 'many'
        directory.mkdir()
        self.assert_refuses(78, 'many has no *.yaml and no *.yml', arguments=('apply', '-f', 'many'))
        self.assert_refuses(78, 'cannot read none: No such file or directory', arguments=('apply', '-f', 'none'))
        for name in ('one', 'two'):
            (directory / f'{name}.yaml').write_text(service(name), encoding='utf-8')
        (directory / 'note.txt').write_text('no service', encoding='utf-8')
        done = self.home.run('apply', '-f', 'many')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('one created', done.stdout)
        self.assertIn('two created', done.stdout)

    def test_apply_reads_a_named_pipe(self):
        self.up('--name', 'engine', '-f', self.write('other.yaml', service('other')))
        path = self.write('piped.yaml', service('piped'))
        done = subprocess.run(['bash', '-c', f'{SLUICE} apply -f <(cat {path})'], env=self.home.environment,
                              capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('piped created', done.stdout)

    def test_apply_of_the_document_in_the_file_changes_nothing(self):
        path = self.write('ver.yaml', service('ver'))
        self.up('--name', 'app', '-f', path)
        self.assertIn('unchanged', self.home.run('apply', '-f', path).stdout)
        self.write('ver.yaml', service('ver', 2))
        self.assertEqual(self.home.run('apply', '-f', path).returncode, 0)
        self.assertEqual(self.services(), {'ver': 'ver-00002'})
        self.assert_refuses(1, path, arguments=['delete', 'ver'])


class DownAndUp(ResumeCase):
    def test_up_after_down_never_loses_the_race(self):
        for _ in range(10):
            done = self.home.run('up', '-d', '--http', '127.0.0.1:0', '--min', '1', '--', 'python3', APP, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            down = self.home.run('down', timeout=60)
            self.assertEqual(down.returncode, 0, down.stderr)
            left = [path.name for path in (self.home.path / 'xdg_runtime_dir/sluice/app').glob('*.sock')]
            self.assertEqual(left, [])

    def test_up_waits_for_an_engine_that_ends(self):
        engine = self.up_app()
        held, done = [], []
        with_request = threading.Thread(target=lambda: held.append(engine.get('/?ms=1500')))
        with_request.start()
        engine.wait_status(lambda status: status['in_flight'] == 1)
        down = threading.Thread(target=lambda: done.append(self.home.run('down')))
        down.start()
        engine.wait_event('engine', event='stopping')
        again = self.up_app()
        self.assertNotEqual(again.pid, engine.pid)
        self.assertEqual(again.get().status, 200)
        with_request.join()
        self.assertEqual(held[0].status, 200)
        down.join()
        # The name is free before the process is gone: a sanitizer looks for leaks in between.
        wait_until(lambda: not alive(engine.pid), 30, 'the engine that was ended is gone')
        self.assertEqual(done[0].returncode, 0, done[0].stderr)

    def test_two_that_start_at_once_share_an_engine(self):
        done = []

        def start():
            done.append(self.home.run('up', '-d', '--', 'python3', APP, timeout=60))

        starts = [threading.Thread(target=start) for _ in range(4)]
        for each in starts:
            each.start()
        for each in starts:
            each.join()
        self.addCleanup(self.home.run, 'down')
        self.assertEqual([each.returncode for each in done], [0] * 4, [each.stderr for each in done])
        self.assertEqual(sorted(self.services()), ['app', 'python3', 'python3-2', 'python3-3'])


if __name__ == '__main__':
    unittest.main()
