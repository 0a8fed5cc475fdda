"""A stand-in for an engine: the files of the page, and the API that it reads, over a World. For states that are hard to bring about."""

import datetime
import json
import pathlib
import socketserver
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer

from world import COLUMNS, World, rfc3339

PAGE = pathlib.Path(__file__).resolve().parents[2] / 'common' / 'dashboard'
sys.path.insert(0, str(PAGE))
from pack import served  # noqa: E402

TYPES = {'.html': 'text/html; charset=utf-8', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml'}
SOURCES = {path.name: path.read_text() for path in PAGE.iterdir() if path.suffix in TYPES}
SERVED = served(SOURCES)
TOKEN = '0123456789abcdef0123456789abcdef'
SAMPLE_SECONDS = 0.25
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
          "frame-ancestors 'none'; require-trusted-types-for 'script'")
SECURITY = {'Content-Security-Policy': POLICY, 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer', 'Cross-Origin-Opener-Policy': 'same-origin',
            'Cross-Origin-Resource-Policy': 'same-origin'}


class NoAnswer(Exception):
    """A status and words instead of an answer."""

    def __init__(self, status, detail, fix='', type_='refused'):
        super().__init__(detail)
        self.status, self.detail, self.fix, self.type = status, detail, fix, type_


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *words):
        pass

    def reply(self, status, body, kind='application/json', more=()):
        self.send_response(status)
        for name, value in (*SECURITY.items(), ('Content-Type', kind), ('Content-Length', len(body)), ('Cache-Control', 'no-store'), *more):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.server.engine.seen.append(('GET', self.path))
        try:
            self.get(urllib.parse.urlsplit(self.path))
        except NoAnswer as problem:
            self.refuse(problem)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        engine = self.server.engine
        engine.seen.append(('POST', self.path))
        try:
            if self.headers.get('Sluice-Edit') != engine.token:
                raise NoAnswer(403, 'a change needs the token of this start', 'send the header Sluice-Edit', 'token-required')
            self.reply(202, json.dumps(engine.change(self.path, json.loads(body or b'null'))).encode())
        except NoAnswer as problem:
            self.refuse(problem)

    def refuse(self, problem):
        self.reply(problem.status, json.dumps({'type': problem.type, 'title': 'refused', 'status': problem.status, 'detail': problem.detail, 'fix': problem.fix}).encode(), 'application/problem+json')

    def get(self, url):
        query = dict(urllib.parse.parse_qsl(url.query))
        path = url.path
        if path.startswith('/_sluice/api/v1/'):
            self.api(path.removeprefix('/_sluice/api/v1/'), query)
            return
        name = path.removeprefix('/_sluice/') or 'index.html'
        files = self.server.engine.files
        if not path.startswith('/_sluice/') or name not in files:
            raise NoAnswer(404, 'there is no such path')
        self.reply(200, files[name].encode(), TYPES[pathlib.Path(name).suffix])

    def api(self, path, query):
        engine = self.server.engine
        if engine.locked and self.headers.get('Sluice-Edit') != engine.token:
            raise NoAnswer(403, 'every request needs the token of this start', 'send the header Sluice-Edit', 'token-required')
        if path in engine.without:
            raise NoAnswer(404, 'there is no such path')
        if path == 'live':
            self.live(query)
            return
        if path.endswith('/logs'):
            self.reply(200, '\n'.join(engine.log).encode(), 'text/plain')
        elif path.endswith('/recording'):
            self.reply(200, b'{"format":"sluice-recording/1"}\n', 'application/x-ndjson')
        else:
            self.reply(200, json.dumps(engine.answer(path, query)).encode())

    def live(self, query):
        engine = self.server.engine
        if query.get('view') == 'service' and query['name'] not in engine.world.services:
            engine.nothing()
        self.send_response(200)
        for name, value in (*SECURITY.items(), ('Content-Type', 'text/event-stream'), ('Cache-Control', 'no-store'), ('Connection', 'close')):
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        with engine.streaming(self):
            self.send('hello', engine.hello())
            seen = len(engine.pushed)
            while not engine.stopping.is_set():
                for type_, data in engine.pushed[seen:]:
                    self.send(type_, data)
                seen = len(engine.pushed)
                if not engine.silent.is_set() and (figures := engine.sample(query)):
                    self.send(*figures)
                engine.stopping.wait(SAMPLE_SECONDS if query.get('view') == 'service' else 1)

    def send(self, type_, data):
        engine = self.server.engine
        engine.number += 1
        self.wfile.write(f'id: {engine.number}\nevent: {type_}\ndata: {json.dumps(data)}\n\n'.encode())
        self.wfile.flush()


class Server(socketserver.ThreadingMixIn, HTTPServer):
    daemon_threads = True
    request_queue_size = 64


class FakeEngine:
    """Serves on a port of its own until close(). Tests change `world`, `without` (paths that an older engine lacks), `locked` (all but the page's files
    needs the `token`), `log`, `silent`.
    """

    def __init__(self, services, port=0, files=None, **options):
        self.files = files or SERVED
        self.world = World(time.time(), services, **options)
        self.without, self.log = set(), ['Traceback (most recent call last):', 'ValueError: no database']
        self.seen, self.pushed = [], []
        self.locked, self.token = False, TOKEN
        self.silent = threading.Event()
        self.number = 0
        self.streams = set()
        self.port = port
        self.open()

    def open(self):
        self.started = rfc3339(time.time())
        self.stopping = threading.Event()
        self.server = Server(('127.0.0.1', self.port), Handler)
        self.server.engine = self
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={'poll_interval': 0.05}, daemon=True)
        self.thread.start()

    def close(self):
        """As when its process ends: streams break, no connection is taken."""
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    @property
    def url(self):
        return f'http://localhost:{self.port}/_sluice/'

    def streaming(self, handler):
        engine = self

        class Streaming:
            def __enter__(self):
                engine.streams.add(handler)

            def __exit__(self, *error):
                engine.streams.discard(handler)
        return Streaming()

    def remove(self, name):
        """As `sluice delete`: the service is gone, and streams say it."""
        del self.world.services[name]
        self.push('service', event='removed', name=name)

    def push(self, type_, **data):
        """An event for every stream."""
        self.pushed.append((type_, {'time': rfc3339(time.time()), 'namespace': 'default', **data}))

    def hello(self):
        return {'name': self.world.name, 'version': self.world.version, 'form': self.world.form, 'edit': self.world.edit, 'started': self.started, 'time': rfc3339(time.time())}

    def sample(self, query):
        now = time.time()
        if query.get('view') == 'service':
            service = self.world.services.get(query['name'])
            return service and ('sample', {'t': now, 'row': service.figures(now), 'replicas': service.rows_of_replicas(now)})
        asked = query['rows'].split(',') if 'rows' in query else None
        rows = [service.brief(now, points=False) for service in self.world.services.values() if asked is None or f'{service.space}/{service.name}' in asked]
        return 'fleet', {'overview': self.world.overview(now), 'rows': [row for row in rows if row['state'] != 'asleep'], 'gone': []}

    def answer(self, path, query):
        now = time.time()
        if path == 'overview':
            return {**self.world.overview(now), 'started': self.started}
        if path == 'memory':
            return self.world.memory() if self.world.memory_known else self.nothing()
        if path == 'nodes':
            return self.world.nodes if hasattr(self.world, 'nodes') else self.nothing()
        if path == 'places':
            return {'items': self.world.places()}
        if path == 'moves':
            return {'items': self.world.moves}
        if path == 'services':
            return self.page(query, now)
        parts = [urllib.parse.unquote(part) for part in path.split('/')]
        service = self.world.services.get(parts[2]) if len(parts) > 2 and parts[0] == 'services' else None
        return self.of_service(service, parts[3:], query, now) if service else self.nothing()

    def nothing(self):
        raise NoAnswer(404, 'there is no such service')

    def page(self, query, now):
        first, limit = int(query.get('next', 0)), int(query.get('limit', 100))
        services = list(self.world.services.values())[first:first + limit]
        answer = {'items': [service.brief(now) for service in services]}
        if first + limit < len(self.world.services):
            answer['next'] = str(first + limit)
        return answer

    def of_service(self, service, rest, query, now):
        if not rest:
            return service.status(now)
        if rest == ['explain']:
            at = self.time_of(query['at']) if 'at' in query else now
            decision = service.decision(at)
            if 'at' not in query and service.kind == 'shop':
                decision['keeps_awake'] = [{'client': '127.0.0.1', 'request': 'GET /', 'count': 17455}, {'client': '127.0.0.1', 'request': 'GET /health', 'count': 6}]
            return decision
        since = now - self.seconds_of(query.get('since', '5m'))
        if rest == ['history']:
            return {'items': service.history(since)}
        if rest == ['cold-starts']:
            return {'items': service.starts()}
        if rest == ['revisions']:
            return {'items': service.revisions()}
        if rest == ['series']:
            step = self.seconds_of(query.get('step', '1s'))
            start = since - since % step
            return {'start': rfc3339(start), 'step_ms': 1000 * step, 'columns': list(COLUMNS), 'rows': [service.figures(start + i * step) for i in range(int((now - start) / step))]}
        return self.nothing()

    @staticmethod
    def seconds_of(text):
        return int(text[:-1]) * {'s': 1, 'm': 60, 'h': 3600, 'd': 86400}[text[-1]]

    @staticmethod
    def time_of(text):
        return datetime.datetime.fromisoformat(text.replace('Z', '+00:00')).timestamp()

    def change(self, path, body):
        parts = path.removeprefix('/_sluice/api/v1/').split('/')
        if parts[0] == 'places':
            self.world.drained ^= {parts[1]}
            self.push('place', name=parts[1], state='draining' if parts[1] in self.world.drained else 'ready')
            return {'name': parts[1]}
        service = self.world.services.get(parts[2])
        if parts[3] == 'traffic':
            service.percents = {part['revision']: part['percent'] for part in body['percents']}
            return {'items': service.revisions()}
        if parts[3] == 'move':
            service.shares = {body['to']: sum(service.shares.values())}
            return {'service': service.name, 'to': body['to'], 'moves': [3], 'asleep': False}
        if parts[3] in ('wake', 'sleep'):
            service.forced = 1 if parts[3] == 'wake' else 0
        elif parts[3] == 'scale':
            service.bounds = [body['min'], body['max']]
            service.forced = body['min'] or None
        return service.status(time.time())
