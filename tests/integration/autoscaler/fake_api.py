"""As much of an API server as an autoscaler's own objects need: objects by path, watches of what is written."""

import base64
import contextlib
import http.server
import json
import os
import tempfile
import threading
import urllib.parse

BOOKMARK = {'type': 'BOOKMARK', 'object': {'metadata': {
    'resourceVersion': '1', 'annotations': {'k8s.io/initial-events-end': 'true'}}}}
WATCH_SECONDS = 0.2  # at most until a watch sees that the server has ended
REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'


class Answering(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        split = urllib.parse.urlsplit(self.path)
        asked = urllib.parse.parse_qs(split.query)
        if 'watch' in asked:
            return self.watch(split.path)
        api = self.server.api
        if split.path.endswith('/pods'):
            return self.answer(200, {'kind': 'PodList', 'items': api.pods_chosen(asked)})
        with api.lock:
            found = api.objects.get(split.path)
        return self.answer(200, found) if found else self.answer(404, {})

    def watch(self, path):
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        api = self.server.api
        with api.lock:
            begun = len(api.written)
        there = [{'type': 'ADDED', 'object': each} for each in api.watched.get(path, [])]
        with contextlib.suppress(OSError):  # the watcher has gone
            for event in [*there, BOOKMARK]:
                self.tell(event)
            while not self.server.ended.is_set():
                with api.lock:
                    api.news.wait(WATCH_SECONDS)
                    events, begun = api.written[begun:], len(api.written)
                for collection, event in events:
                    if collection == path:
                        self.tell(event)

    def tell(self, event):
        line = json.dumps(event) + '\n'
        self.wfile.write(f'{len(line):x}\r\n{line}\r\n'.encode())

    def do_POST(self):
        body = self.body()
        api = self.server.api
        if self.path == REVIEWS:
            return self.answer(201, {**body, 'status': api.review(body['spec'])})
        path = self.path.partition('?')[0] + '/' + body['metadata']['name']
        return self.answer(*api.put(path, body, creates=True))

    def do_PUT(self):
        return self.answer(*self.server.api.put(self.path.partition('?')[0], self.body(), creates=False))

    def do_PATCH(self):
        return self.answer(*self.server.api.put(self.path.partition('?')[0], self.body(), creates=None))

    def body(self):
        return json.loads(self.rfile.read(int(self.headers['Content-Length'])))

    def answer(self, status, thing):
        data = json.dumps(thing).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class FakeApi:
    """Serves until closed; `kubeconfig` leads to it. `tokens`: the TokenReview of each."""

    def __init__(self):
        self.lock = threading.Lock()
        self.news = threading.Condition(self.lock)
        self.written = []  # (path of the collection, event of a watch)
        self.objects = {'/apis': {'kind': 'APIGroupList', 'groups': []}}
        self.watched = {}  # what a watch of a path begins with
        self.tokens = {}
        self.activators = []  # (ip, labels) of pods
        self.version = 1
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Answering)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.server.api = self
        self.server.ended = threading.Event()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        descriptor, self.kubeconfig = tempfile.mkstemp(prefix='sluice-kubeconfig-')
        with os.fdopen(descriptor, 'w', encoding='utf-8') as file:
            json.dump({'current-context': 'a', 'users': [{'name': 'a', 'user': {}}],
                       'clusters': [{'name': 'a', 'cluster': {
                           'server': f'http://127.0.0.1:{self.server.server_port}'}}],
                       'contexts': [{'name': 'a', 'context': {'cluster': 'a', 'user': 'a'}}]}, file)

    def put(self, path, body, creates):
        with self.lock:
            there = self.objects.get(path)
            if creates is not None and creates == (there is not None):
                return (409, {}) if creates else (404, {})
            given = body.setdefault('metadata', {}).get('resourceVersion')
            if there and given and given != there['metadata']['resourceVersion']:
                return 409, {}
            self.version += 1
            body['metadata']['resourceVersion'] = str(self.version)
            self.objects[path] = body
            self.written.append((path.rpartition('/')[0], {'type': 'MODIFIED' if there else 'ADDED', 'object': body}))
            self.news.notify_all()
            return (201 if creates else 200), body

    def review(self, spec):
        known = self.tokens.get(spec['token'])
        if known is None:
            return {'authenticated': False, 'error': 'unknown'}
        return {'authenticated': True, 'audiences': spec['audiences'], **known}

    def bearer(self, token, user='system:serviceaccount:system:node-agent', **extra):
        """A token that is good from now on; `extra`: of its user."""
        self.tokens[token] = {'user': {'username': user, 'extra': {
            'authentication.kubernetes.io/' + key.replace('_', '-'): [value]
            for key, value in extra.items()}}}
        return token

    def pods_chosen(self, asked):
        """By the one selector that there is: activators that an older chart has made."""
        if asked.get('labelSelector') != ['app.kubernetes.io/name=activator,sluice.dev/stream-tls!=mutual']:
            return []
        return [{'metadata': {'name': f'activator-{ip}'}, 'status': {'phase': 'Running', 'podIP': ip}}
                for ip, labels in self.activators if labels.get('sluice.dev/stream-tls') != 'mutual']

    def data(self, kind, name):
        """Decoded data of a Secret or ConfigMap of the system namespace, or None."""
        with self.lock:
            found = self.objects.get(f'/api/v1/namespaces/system/{kind}/{name}')
        if found is None:
            return None
        return {key: base64.b64decode(value).decode() if kind == 'secrets' else value
                for key, value in found['data'].items()}

    def close(self):
        self.server.ended.set()
        self.server.shutdown()
        self.server.server_close()
        os.unlink(self.kubeconfig)
