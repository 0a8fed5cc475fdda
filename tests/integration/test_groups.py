"""Parts of the machine (`groups` of config.yaml), as far as they are there before a replica is."""

import pathlib
import signal
import unittest

from engine import EngineCase, wait_until

GROUPS = '''groups:
  - {name: fast, cpu: 500m, memory: 1Gi, cpus: "0"}
  - {name: slow, preference: 1, memory: 2Gi}
  - {name: open, preference: 2, replicas: 3}
'''
TOO_MUCH = '''max-replicas: 7
groups:
  - {name: vast, cpu: 4096, memory: 900Gi}
'''


class Groups(EngineCase):
    def config(self, text):
        return self.write('config.yaml', text)

    def control_groups(self):
        """Where the engine called app has them; none where it cannot."""
        line, = [line for line in self.home.run('doctor').stdout.splitlines() if ' cgroup ' in line]
        if not (self.can_limit('memory') and self.can_limit('cpu')):
            return None
        return pathlib.Path(line.rsplit(':', 1)[0].split()[-1])

    def test_a_wrong_group_is_refused_with_its_line_before_anything_starts(self):
        for text, words in (('{name: a, prefrence: 1}', 'did you mean `preference`?'),
                            ('{name: a, cpus: "4095"}', 'there is no core 4095; use cores of 0'),
                            ('{name: a, memory: 4}', 'did you mean 4Gi?')):
            config = self.config(f'groups:\n  - {text}\n')
            self.assert_refuses(78, f'{config}:2: ', words, arguments=['config', '--check', config])
            self.assert_refuses(78, f'{config}:2: ', words, arguments=['up', '--config', config, '--', 'sleep', '9'])

    def test_config_shows_groups_as_they_can_be_written(self):
        shown = self.home.run('config', '--config', self.config(GROUPS)).stdout
        self.assertIn('{name: fast, preference: 0, cpu: 500m, memory: 1Gi, cpus: "0"}', shown)
        line, = [line for line in shown.splitlines() if line.startswith('groups ')]
        self.assertTrue(line.endswith('config.yaml:1'), line)

    def test_more_than_the_machine_is_a_warning(self):
        engine = self.up_app('--config', self.config(TOO_MUCH))
        warning, = [event['message'] for event in engine.events[:engine.mark()]
                    if event['type'] == 'warning' and 'the machine' in event['message']]
        self.assertIn('config.yaml:2: `groups` have more together than the machine: cpu 4096 of ', warning)
        self.assertEqual(engine.stop(), 0)

    def test_control_groups_come_and_go_with_the_engine_also_after_a_kill(self):
        groups = self.control_groups()
        engine = self.up_app('--config', self.config(GROUPS))
        engine.mark()
        warnings = [event['message'] for event in engine.events if event['type'] == 'warning']
        if groups is None:
            self.assertEqual([text.split(':')[0] for text in warnings], ['group fast', 'group slow'])
            self.assertEqual(engine.stop(), 0)
            return
        self.assertEqual(warnings, [])
        places = ['place.fast', 'place.slow']
        self.assertEqual(sorted(path.name for path in groups.glob('place.*')), places)
        engine.process.send_signal(signal.SIGKILL)
        wait_until(lambda: engine.process.poll() is not None, 10, 'the end of the engine')

        engine = self.up_app('--config', self.config('groups: [{name: slow, memory: 3Gi}]\n'))
        self.assertEqual(sorted(path.name for path in groups.glob('place.*')), places[1:])
        self.assertEqual(engine.stop(), 0)
        self.assertEqual(list(groups.glob('place.*')), [])

    def test_doctor_names_what_groups_cost(self):
        config = pathlib.Path(self.home.environment['XDG_CONFIG_HOME'], 'sluice')
        config.mkdir()
        (config / 'config.yaml').write_text(GROUPS, encoding='utf-8')
        line, = [line for line in self.home.run('doctor').stdout.splitlines() if ' groups ' in line]
        self.assertIn('fast, slow', line)
        (config / 'config.yaml').write_text('groups: [{name: a, cpu: lots}]\n', encoding='utf-8')
        done = self.home.run('doctor')
        self.assertEqual(done.returncode, 1)
        self.assertIn('config.yaml:1: `cpu`: `lots` is not a number of CPUs', done.stdout)


if __name__ == '__main__':
    unittest.main()
