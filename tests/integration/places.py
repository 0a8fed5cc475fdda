"""A service in several places (`groups` of config.yaml), for tests of what stands where and of moves."""

import json
import subprocess

from clients import Journal
from engine import APP, SLUICE, EngineCase, wait_until
from test_doors import API
from wire import fetch

GROUPS = '''groups:
  - {name: fast, preference: 0, cpus: "0", memory: 1Gi, replicas: 4}
  - {name: slow, preference: 1, memory: 4Gi, replicas: 20}
'''
THREE = '''groups:
  - {name: a, preference: 0, replicas: 6}
  - {name: b, preference: 1, replicas: 6}
  - {name: c, preference: 2, replicas: 6}
'''
DOCUMENT = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata: {{name: {name}}}
spec:
  template:
    metadata:
      annotations: {annotations}
    spec:
      containers:
        - command: ["python3", "{program}"]
          env: {env}
          resources: {{limits: {limits}}}
'''
# Once the file is there, what is started answers 500, ends, or starts late.
CHANGING = '''
import os, sys, threading
there = os.path.exists(os.environ['FILE'])
if there and os.environ['THEN'] == 'ends':
    sys.exit('no such device here')
if there and os.environ['THEN'] == 'late':
    threading.Event().wait(1.5)
app = {'__name__': 'app'}
exec(open(os.environ['APP']).read(), app)
def refuse(self):
    self.send_response(500)
    self.send_header('Content-Length', '0')
    self.end_headers()
if there and os.environ['THEN'] == 'fails':
    app['Answering'].do_GET = refuse
app['Server'](('127.0.0.1', int(os.environ['PORT'])), app['Answering']).serve_forever()
'''


class PlacesCase(EngineCase):
    def document(self, name, replicas, most=None, keys=(), env=(), limits='{}', program=APP):
        """A file with a service of at least that many replicas; its POSTs are written down in the journal."""
        scale = 'autoscaling.knative.dev/'
        annotations = {f'{scale}min-scale': str(replicas), f'{scale}initial-scale': str(replicas),
                       f'{scale}max-scale': str(most or max(replicas, 1)), **dict(keys)}
        if replicas == 0:
            annotations[f'{scale}initial-scale'] = '0'
        variables = {'JOURNAL': str(self.home.path / 'journal'), 'APP': APP, **dict(env)}
        return self.write(f'{name}.yaml', DOCUMENT.format(
            name=name, annotations=json.dumps(annotations), program=program, limits=limits,
            env=json.dumps([{'name': key, 'value': value} for key, value in variables.items()])))

    def changing(self, name, replicas, then):
        """A service whose program changes once the file is there; and that file."""
        file = self.home.path / f'{name}-changed'
        program = self.write('changing.py', CHANGING)
        return self.document(name, replicas, program=program, env=[('FILE', str(file)), ('THEN', then)]), file

    def up_with(self, groups, *documents, flags=()):
        files = [part for path in documents for part in ('-f', path)]
        return self.up('--config', self.write('config.yaml', groups), *flags, *files)

    def wait_ready(self, engine, **services):
        for service, count in services.items():
            engine.wait_status(lambda status, count=count: status['ready'] == count, service=service)

    def sluice(self, *arguments, code=0):
        done = self.home.run(*arguments, timeout=120)
        self.assertEqual(done.returncode, code, f'{arguments}: {done.stdout}{done.stderr}')
        return done.stdout + done.stderr

    def begin(self, *arguments):
        """The same, while the test goes on; end() gives its status and what it said."""
        process = subprocess.Popen([SLUICE, *arguments], env=self.home.environment, cwd=self.home.path,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def end(self, process):
        said, _ = process.communicate(timeout=120)
        return process.returncode, said

    def places(self):
        """{place: {service: replicas}}."""
        items = json.loads(self.sluice('places', '-o', 'json'))
        return {place['name']: {each['name']: each['replicas'] for each in place['services']}
                for place in items}

    def moves(self, engine):
        return fetch(engine.http, f'{API}/moves', host='localhost').json()['items']

    def explained(self, service, word):
        """`sluice explain` once it has the word: decisions are made every two seconds."""
        said = ''

        def has_it():
            nonlocal said
            said = self.sluice('explain', service)
            return word in said

        wait_until(has_it, 15, f'{word} in {said}')
        return said

    def assert_served_once(self, posts):
        self.assertEqual((posts.lost, posts.refused), ({}, set()))
        begun = Journal(self.home.path / 'journal').begun
        self.assertEqual([name for name in posts.sent if begun[name] != 1], [])
        self.assertEqual(posts.answered, posts.sent)
