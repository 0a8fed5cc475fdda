"""Images that do not start or do not last: each has its cause in one line."""

import json
import unittest

from engine import EngineCase
from images.case import IMAGE, Images


class Causes(Images):
    def test_a_program_that_is_not_in_the_image(self):
        engine = self.up_image('/nope')
        self.assert_cause(engine, 'podman could not run localhost/web:1: Error: ', 'its program could not be run')
        self.assertIn('/nope', engine.wait_event('replica', state='exited')['why'])

    def test_an_exit_code_with_its_last_line(self):
        self.assert_cause(self.shell('echo no database >&2; exit 3'), 'it ended with exit code 3: no database',
                          'it ended with exit code 3')

    def test_an_end_because_of_memory(self):
        engine = self.shell('exec dd if=/dev/zero of=/dev/null bs=100M count=10', flags=('--memory', '20Mi'))
        self.assert_cause(engine, 'out of memory (limit 20Mi)')
        self.assertEqual(engine.wait_event('replica', state='exited')['cause'], 'out_of_memory')

    def test_another_port(self):
        engine = self.shell('exec httpd -f -p 3000 -h /www')
        self.assert_cause(engine, 'it listens on 3000, not on $PORT (8080); use containerPort 3000 (--port 3000)')

    def test_a_port_that_only_its_own_container_reaches(self):
        engine = self.shell('exec httpd -f -p 127.0.0.1:$PORT -h /www')
        self.assert_cause(engine, 'it listens on 8080 of its container\'s loopback address, which cannot be reached '
                          'from outside; let it listen on 0.0.0.0')


class NoRuntime(EngineCase):
    """Without podman and docker: what is to be installed, and where that is needed."""

    def setUp(self):
        super().setUp()
        self.home.environment['PATH'] = str(self.home.path)

    def test_a_file_names_the_line(self):
        document = {'apiVersion': 'serving.knative.dev/v1', 'kind': 'Service', 'metadata': {'name': 'app'},
                    'spec': {'template': {'spec': {'containers': [{'image': IMAGE}]}}}}
        text = json.dumps(document, indent=1)
        line = text[:text.index('"image"')].count('\n') + 1
        file = self.write('app.yaml', text)
        self.assert_refuses(78, f'{file}:{line}: an image is run by podman or docker, and neither is in PATH',
                            'apt install podman', arguments=('up', '-f', file))

    def test_the_command_line_has_the_same_cause(self):
        self.assert_refuses(78, 'an image is run by podman or docker, and neither is in PATH', 'apt install podman',
                            arguments=('up', '--http', '127.0.0.1:0', '--image', IMAGE))

    def test_the_one_chosen_by_the_settings_is_named(self):
        config = self.write('config.yaml', 'container-runtime: docker\n')
        self.assert_refuses(78, 'an image is run by docker, which is not in PATH', 'container-runtime',
                            arguments=('up', '--http', '127.0.0.1:0', '--config', config, '--image', IMAGE))

    def test_the_doctor_names_what_runs_images(self):
        self.assertIn('neither podman nor docker is in PATH (apt install podman)', self.home.run('doctor').stdout)
        program = self.home.path / 'podman'
        program.write_text('#!/bin/sh\n')
        program.chmod(0o755)
        self.assertIn(f'run by {program}', self.home.run('doctor').stdout)

    def test_what_is_no_name_of_an_image_is_refused_as_a_flag(self):
        for name in ('--rm', 'a b'):
            self.assert_refuses(2, '--image: ', 'is not the name of an image', arguments=('up', f'--image={name}'))


if __name__ == '__main__':
    unittest.main()
