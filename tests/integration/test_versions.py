"""An engine and programs of other versions: its sidecar's file replaced or deleted, verbs newer than the engine."""

import http.server
import json
import os
import pathlib
import shutil
import socketserver
import threading

from engine import APP, QUEUE_PROXY, EngineCase, wait_until


class OldApi(http.server.BaseHTTPRequestHandler):
    """What verbs ask of an engine, answered as one of version 0.0.1."""

    def do_GET(self):
        body = json.dumps({'version': '0.0.1', 'pid': 1, 'items': []}).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self):
        return 'unix'

    def log_message(self, *_):
        pass


class HeldSidecar(EngineCase):
    def setUp(self):
        super().setUp()
        self.program = self.home.path / 'queue-proxy'
        shutil.copy(QUEUE_PROXY, self.program)
        self.home.environment['SLUICE_QUEUE_PROXY'] = str(self.program)
        self.engine = self.up('--', 'python3', APP)
        self.assertEqual(self.engine.get().status, 200)

    def sleeps_and_wakes(self):
        self.home.run('sleep', 'app')
        self.engine.wait_status(lambda status: status['ready'] == 0 and status['state'] == 'asleep')
        self.assertEqual(self.engine.get().status, 200)

    def test_a_replica_starts_although_its_sidecars_file_is_deleted(self):
        self.program.unlink()
        self.sleeps_and_wakes()

    def test_a_replaced_file_is_not_started_by_the_engine_that_runs(self):
        os.rename(self.write('next', '#!/bin/sh\nexit 1\n'), self.program)
        self.program.chmod(0o755)
        self.sleeps_and_wakes()


class OlderEngine(EngineCase):
    def setUp(self):
        super().setUp()
        folder = pathlib.Path(self.home.environment['XDG_RUNTIME_DIR'], 'sluice', 'old')
        folder.mkdir(parents=True, mode=0o700)
        (folder / 'lock').touch()
        server = socketserver.ThreadingUnixStreamServer(str(folder / 'api.sock'), OldApi)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        wait_until(lambda: self.home.run('get').returncode == 0, 10, 'an answer')

    def test_verbs_name_it_in_one_line_on_standard_error(self):
        version = self.home.run('--version').stdout.split()[1]
        for verb in (['get'], ['version'], ['top']):
            done = self.home.run(*verb)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr, f'engine old runs sluice 0.0.1, older than this {version}; it becomes '
                                          f'{version} when it is stopped and started again\n')
        self.assertEqual(self.home.run('version').stdout, f'sluice {version}\nengine old runs sluice 0.0.1\n')
        listed = json.loads(self.home.run('version', '-o', 'json').stdout)
        self.assertEqual(listed, {'version': version, 'engines': [{'name': 'old', 'version': '0.0.1', 'pid': 1}]})
