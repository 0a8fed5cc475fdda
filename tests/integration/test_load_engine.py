"""`sluice load --engine`: where replicas and decisions of a report come from."""

import http.server
import json
import threading
import unittest

from engine import EngineCase


class Asked(http.server.BaseHTTPRequestHandler):
    """Keeps the paths that were asked for."""
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        self.server.paths.append(self.path)
        self.send_response(200)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def log_message(self, *arguments):
        pass


class EngineOfALoad(EngineCase):
    def server(self):
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Asked)
        server.paths = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def load(self, url, *flags):
        return self.home.run('load', url, '-n', '3', '--rate', '50', '-o', 'json', *flags, timeout=60)

    def scaling(self, *flags):
        done = self.load(*flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)['scaling']

    def test_off_asks_no_api_and_auto_that_of_the_target(self):
        server = self.server()
        url = f'http://127.0.0.1:{server.server_port}/'

        self.assertIsNone(self.scaling(url, '--engine', 'off'))
        self.assertEqual(server.paths, ['/'] * 3)
        self.assertIsNone(self.scaling(url, '--engine', 'auto'))
        self.assertEqual(server.paths[3].split('?')[0], '/_sluice/api/v1/services')

    def test_an_engine_is_found_by_its_name_by_its_url_and_with_a_service(self):
        engine = self.up_app()
        server = self.server()   # no service of the engine, so nothing but the flag leads there
        url = f'http://app.localhost:{server.server_port}/'

        for source in ('app', f'http://{engine.http}', f'http://{engine.http}/_sluice', f'default/app@http://{engine.http}/_sluice'):
            with self.subTest(source):
                self.assertEqual(self.scaling(url, '--engine', source)['service'], 'app')
        self.assertEqual(set(server.paths), {'/'})

    def test_an_engine_that_is_not_there_is_exit_69_before_a_request_is_sent(self):
        engine = self.up_app()
        server = self.server()
        url = f'http://127.0.0.1:{server.server_port}/'

        for source, words in (('gone', 'no engine named gone is running; running: app'),
                              (f'http://127.0.0.1:{server.server_port}', '--engine: no answer about any service'),
                              (f'default/other@http://{engine.http}/_sluice', '--engine: no answer about any service')):
            with self.subTest(source):
                server.paths.clear()
                done = self.load(url, '--engine', source)
                self.assertEqual(done.returncode, 69, done.stdout)
                self.assertIn(words, done.stderr)
                self.assertNotIn('/', server.paths)

    def test_a_wrong_source_is_refused_with_the_forms_that_there_are(self):
        self.assert_refuses(2, "--engine 'a/b' is none", 'give auto, off, the name of an engine', arguments=('load', 'localhost:1', '--engine', 'a/b'))

    def test_words_of_the_flag_name_no_engine(self):
        for word in ('auto', 'off'):
            self.assert_refuses(2, f'{word} cannot name an engine', arguments=('up', '--name', word, '--', 'sleep', '9'))


if __name__ == '__main__':
    unittest.main()
