"""What the page reads of an engine: tiles, short lists, series, cold starts, memory and the live stream."""

import gzip
import json
import pathlib
import re
import threading

from engine import EngineCase, wait_until
from test_doors import FIELDS, problem, token_in
from wire import Deadline, Reader, connect, fetch, request_bytes

API = '/_sluice/api/v1'
ONE = f'{API}/services/default/app'
COLUMNS = ['ready', 'starting', 'draining', 'want', 'stable', 'panic', 'target', 'rps', 'errors', 'refused', 'queued',
           'in_flight', 'p50_ms', 'p99_ms', 'latency']
STREAMS_MAX = 32


class Stream:
    """Server-sent events of one connection, in order."""

    def __init__(self, engine, path, headers=()):
        self.socket = connect(engine.http)
        self.socket.sendall(request_bytes('GET', API + path, 'localhost', headers))
        self.reader = Reader(self.socket)
        self.status, self.headers = self.reader.head()
        self.text = ''

    def until(self, wanted, seconds=20):
        """The first event for which `wanted(type, data)`, with those before it."""
        seen = []
        deadline = Deadline(seconds)
        while not deadline.passed():
            while '\n\n' in self.text:
                one, self.text = self.text.split('\n\n', 1)
                lines = dict(line.split(': ', 1) for line in one.split('\n') if not line.startswith(':'))
                if 'event' not in lines:
                    continue
                seen.append((lines['event'], json.loads(lines['data']), lines.get('id')))
                if wanted(*seen[-1][:2]):
                    return seen
            self.text += self.chunk()
        raise AssertionError(f'not within {seconds} s; seen {seen[-5:]}')

    def chunk(self):
        size = int(self.reader.until(b'\r\n'), 16)
        if size == 0:
            raise AssertionError('the stream has ended')
        text = self.reader.exactly(size).decode()
        self.reader.until(b'\r\n')
        return text

    def close(self):
        self.socket.close()


class DashboardCase(EngineCase):
    def ask(self, engine, path, **options):
        return fetch(engine.http, API + path, **{'host': 'localhost', **options})

    def json(self, engine, path, **options):
        answer = self.ask(engine, path, **options)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def stream(self, engine, path, headers=()):
        stream = Stream(engine, path, headers)
        self.addCleanup(stream.close)
        return stream


class Reads(DashboardCase):
    def test_tiles_rows_and_series_show_a_service_that_was_asked(self):
        engine = self.up_app()
        self.assertEqual(engine.get('/?id=1').status, 200)
        engine.get('/missing', method='BREW')
        rows = lambda: self.json(engine, '/services?brief=1')['items']  # of the last full second
        wait_until(lambda: any(row['ready'] == 1 and any(row['points']) for row in rows()), 20,
                   'a row of a service that serves')
        shown, = rows()
        self.assertEqual((shown['name'], shown['namespace'], shown['state'], shown['trouble'], shown['mode']),
                         ('app', 'default', 'awake', None, 'stable'))
        self.assertEqual(len(shown['points']), 60)
        self.assertGreater(shown['last_cold_start_ms'], 0)
        tiles = self.json(engine, '/overview')
        self.assertEqual((tiles['services']['all'], tiles['services']['awake'], tiles['ready']), (1, 1, 1))
        self.assertEqual((tiles['form'], tiles['edit'], tiles['name']), ('machine', False, 'app'))
        self.assertEqual(len(tiles['rps_points']), 60)
        series = self.json(engine, '/services/default/app/series?since=5m&step=1s')
        self.assertEqual((series['columns'], series['step_ms'], len(series['rows'])), (COLUMNS, 1000, 300))
        known = [one for one in series['rows'] if one]
        self.assertGreaterEqual(sum(one[7] for one in known), 2)
        self.assertGreaterEqual(sum(sum(one[14]) for one in known), 2)
        self.assertEqual({len(one[14]) for one in known}, {24})
        starts = self.json(engine, '/services/default/app/cold-starts?since=24h')['items']
        self.assertEqual(len(starts), 1)
        self.assertIn('first_byte', starts[0]['phases_ms'])

    def test_memory_is_that_of_the_machine(self):
        engine = self.up_app()
        engine.get('/')
        memory = self.json(engine, '/memory')
        self.assertGreater(memory['capacity_bytes'], memory['used_bytes'])
        self.assertEqual(memory['throttled'], [])
        self.assertIn(memory['pressure'], ('ok', 'high', 'critical'))

    def test_a_service_that_does_not_exist_has_neither_series_nor_stream(self):
        engine = self.up_app()
        for path in ('/services/default/none/series', '/services/default/none/cold-starts',
                     '/live?view=service&ns=default&name=none'):
            self.assertEqual(problem(self.ask(engine, path)), (404, 'no-such-service'), path)


class Page(DashboardCase):
    def test_the_page_is_served_with_its_policy_compressed_and_only_once(self):
        engine = self.up_app()
        for host in ('localhost', 'sluice.localhost'):
            plain = fetch(engine.http, '/_sluice/', host=host)
            self.assertEqual((plain.status, plain.headers['content-type']), (200, 'text/html; charset=utf-8'))
            for name, value in FIELDS.items():
                self.assertEqual(plain.headers.get(name), value, name)
            packed = fetch(engine.http, '/_sluice/', host=host, headers=[('Accept-Encoding', 'gzip')])
            self.assertEqual(packed.headers['content-encoding'], 'gzip')
            self.assertEqual(gzip.decompress(packed.body), plain.body)
            tag = [('If-None-Match', plain.headers['etag'])]
            same = fetch(engine.http, '/_sluice/', host=host, headers=tag)
            self.assertEqual((same.status, same.body), (304, b''))

    def test_its_address_is_led_to(self):
        engine = self.up_app()
        for path, host in (('/_sluice', 'localhost'), ('/_sluice', 'sluice.localhost'), ('/', 'sluice.localhost')):
            answer = fetch(engine.http, path, host=host)
            self.assertEqual((answer.status, answer.headers['location']), (308, '/_sluice/'), path)
            for name, value in FIELDS.items():
                self.assertEqual(answer.headers.get(name), value, name)
        self.assertEqual(fetch(engine.http, '/_sluice', host='app.localhost').status, 200)

    def test_a_file_opens_it_with_the_token_and_no_output_has_that(self):
        engine = self.up_app('--allow-edit')
        file = pathlib.Path(self.home.environment['XDG_RUNTIME_DIR'], 'sluice/app/dashboard.html')
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        port = engine.http.rsplit(':', 1)[1]
        self.assertIn(f'http://sluice.localhost:{port}/#token={token_in(engine)}', file.read_text())
        self.assertEqual(engine.stop(), 0)
        self.assertFalse(file.exists())

    def test_the_banner_has_the_link(self):
        for flags, words in (((), ('page       http://sluice.localhost:',)),
                             (('--allow-edit',), ('page       file://', 'dashboard.html, which opens http://sluice.'))):
            done = self.home.run('up', '-d', *flags, '--http', '127.0.0.1:0', '--demo')
            self.addCleanup(self.home.run, 'down')
            for word in words:
                self.assertIn(word, done.stdout)
            self.home.run('down')


class Live(DashboardCase):
    def test_a_fleet_is_shown_each_second_and_decisions_at_once(self):
        engine = self.up_app()
        stream = self.stream(engine, '/live?view=fleet')
        self.assertEqual((stream.status, stream.headers['content-type']), (200, 'text/event-stream'))
        hello = stream.until(lambda kind, _: kind == 'hello')[0]
        self.assertEqual((hello[1]['name'], hello[1]['form']), ('app', 'machine'))
        engine.get('/?id=1')
        seen = stream.until(lambda kind, data: kind == 'fleet' and any(row['ready'] for row in data['rows']))
        kinds = [kind for kind, _, _ in seen]
        for kind in ('decision', 'replica', 'cold_start', 'fleet'):
            self.assertIn(kind, kinds)
        row, = [one for one in seen[-1][1]['rows'] if one['ready']]
        self.assertEqual(row['name'], 'app')
        self.assertEqual(seen[-1][1]['overview']['services']['awake'], 1)

    def test_a_service_is_shown_with_its_replicas(self):
        engine = self.up_app()
        engine.get('/')
        stream = self.stream(engine, '/live?view=service&ns=default&name=app')
        seen = stream.until(lambda kind, data: kind == 'sample' and data['row'][0] == 1)
        sample = seen[-1][1]
        self.assertEqual(len(sample['row']), len(COLUMNS))
        (name, state, _, memory, throttled), = sample['replicas']
        self.assertEqual((name, state, throttled), ('app-00001-1', 'ready', False))
        self.assertIsInstance(memory, int)
        self.home.run('sleep', 'app')
        stream.until(lambda kind, data: kind == 'sample' and data['row'][0] == 0)

    def test_it_resumes_after_the_last_event_and_resets_when_that_is_gone(self):
        engine = self.up_app()
        stream = self.stream(engine, '/live?view=fleet')
        first = stream.until(lambda kind, _: kind == 'hello')[-1][2]
        stream.close()
        engine.get('/?id=1')
        engine.wait_event('replica', state='ready')
        resumed = self.stream(engine, '/live?view=fleet', [('Last-Event-ID', first)])
        seen = resumed.until(lambda kind, data: kind == 'replica' and data['state'] == 'ready')
        self.assertNotIn('reset', [kind for kind, _, _ in seen])
        gone = self.stream(engine, '/live?view=fleet', [('Last-Event-ID', '999999')])
        gone.until(lambda kind, _: kind == 'reset')

    def test_a_changed_spec_causes_an_event(self):
        engine = self.up_app()
        stream = self.stream(engine, '/live?view=service&ns=default&name=app')
        stream.until(lambda kind, _: kind == 'hello')
        spec = self.home.run('get', 'app', '-o', 'yaml').stdout
        changed = re.sub(r'max-scale: .*', 'max-scale: "3"', spec)
        self.assertNotEqual(changed, spec)
        done = self.home.run('apply', '-f', '-', stdin=changed)
        self.assertEqual(done.returncode, 0, done.stderr)
        stream.until(lambda kind, _: kind == 'spec')

    def test_the_thirty_third_stream_is_refused_in_words(self):
        engine = self.up_app()
        for _ in range(STREAMS_MAX):
            self.assertEqual(self.stream(engine, '/live?view=fleet').status, 200)
        refused = self.ask(engine, '/live?view=fleet')
        self.assertEqual(problem(refused), (503, 'too-many-streams'))
        self.assertIn('32 live streams', refused.json()['detail'])
        self.assertEqual(self.ask(engine, '/overview').status, 200)

    def test_a_reader_that_does_not_read_delays_no_other(self):
        engine = self.up_app()
        self.stream(engine, '/live?view=fleet')
        done = threading.Event()
        for number in range(200):
            self.assertEqual(engine.get(f'/?id={number}').status, 200)
            done.wait(0)
        self.stream(engine, '/live?view=fleet').until(lambda kind, _: kind == 'fleet')
