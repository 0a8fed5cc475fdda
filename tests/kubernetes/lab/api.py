"""The API of the cluster as tests call it: JSON in, JSON out, and watches."""

import http.client
import json
import ssl
import threading
import urllib.parse

from wire import PATIENCE, Deadline

MERGE = 'application/merge-patch+json'
APPLY = 'application/apply-patch+yaml'
JSON_PATCH = 'application/json-patch+json'
STALE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError, ssl.SSLEOFError)


class Refused(AssertionError):
    """An answer that is no success."""

    def __init__(self, method, path, code, body):
        self.code = code
        self.body = body
        try:
            self.status = json.loads(body)
        except ValueError:
            self.status = {}
        said = self.status.get('message') or body[:300]
        super().__init__(f'{method} {path}: {code} {said}')

    @property
    def reason(self):
        return self.status.get('reason', '')


class Api:
    """Requests to one server with one token. Usable from several threads."""

    def __init__(self, url, ca, token, agent='lab'):
        self.url = url
        self.ca = ca
        self.token = token
        self.agent = agent
        parts = urllib.parse.urlsplit(url)
        self.address = (parts.hostname, parts.port)
        self.context = ssl.create_default_context(cafile=ca)
        self.local = threading.local()

    def connect(self, seconds):
        return http.client.HTTPSConnection(*self.address, timeout=seconds, context=self.context)

    def headers(self, more):
        return {'Authorization': f'Bearer {self.token}', 'User-Agent': self.agent,
                'Accept': 'application/json', **more}

    def exchange(self, method, path, body, headers):
        """(status, headers, body) over this thread's connection, which may have gone stale."""
        kept = getattr(self.local, 'connection', None)
        for connection in ([kept] if kept else []) + [self.connect(PATIENCE)]:
            self.local.connection = connection
            try:
                connection.request(method, path, body, headers)
                answer = connection.getresponse()
                return answer.status, dict(answer.getheaders()), answer.read()
            except STALE:
                connection.close()
                if connection is not kept:
                    self.local.connection = None
                    raise
            except Exception:
                connection.close()
                self.local.connection = None
                raise
        raise AssertionError('not reached')

    def ask(self, method, path, body=None, kind='application/json', **headers):
        """(status, headers, bytes), whatever the status is."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        more = {'Content-Type': kind} if body is not None else {}
        return self.exchange(method, path, body, self.headers({**more, **headers}))

    def call(self, method, path, body=None, kind='application/json'):
        """The answer as JSON; Refused if it is no success."""
        code, _, answer = self.ask(method, path, body, kind)
        if code >= 300:
            raise Refused(method, path, code, answer.decode('utf-8', 'replace'))
        return json.loads(answer)

    def get(self, path):
        return self.call('GET', path)

    def find(self, path):
        """As get(); None where there is none."""
        try:
            return self.get(path)
        except Refused as refused:
            if refused.code == 404:
                return None
            raise

    def post(self, path, body):
        return self.call('POST', path, body)

    def put(self, path, body):
        return self.call('PUT', path, body)

    def patch(self, path, body, kind=MERGE):
        return self.call('PATCH', path, body, kind)

    def apply(self, path, body, manager='lab', force=True):
        """Server-side apply."""
        query = urllib.parse.urlencode({'fieldManager': manager, 'force': str(force).lower()})
        return self.call('PATCH', f'{path}?{query}', body, APPLY)

    def delete(self, path, grace=None):
        body = None if grace is None else {'gracePeriodSeconds': grace}
        return self.call('DELETE', path, body)

    def items(self, path):
        return self.get(path)['items']

    def watch(self, path, seconds=PATIENCE, **query):
        return Watch(self, path, seconds, query)


class Watch:
    """Events of a collection: iterate over it, or ask for the next(). Ends at `seconds` with an error."""

    def __init__(self, api, path, seconds, query):
        self.deadline = Deadline(seconds)
        self.connection = api.connect(seconds)
        query = urllib.parse.urlencode({'watch': '1', **query})
        mark = '&' if '?' in path else '?'
        self.connection.request('GET', f'{path}{mark}{query}', headers=api.headers({}))
        self.answer = self.connection.getresponse()
        self.torn = b''  # what came after the last whole event, when it has ended
        if self.answer.status != 200:
            body = self.answer.read().decode('utf-8', 'replace')
            self.close()
            raise Refused('WATCH', path, self.answer.status, body)

    def next(self):
        """The next event; None at the end of the stream, orderly or not."""
        if self.connection.sock:
            self.connection.sock.settimeout(self.deadline.left())
        try:
            line = self.answer.readline()
        except (http.client.IncompleteRead, ConnectionError, ssl.SSLError):
            return None
        if not line.endswith(b'\n'):
            self.torn = line
            return None
        return json.loads(line)

    def until(self, condition):
        """The first event with condition(event)."""
        for event in self:
            if condition(event):
                return event
        raise AssertionError('the watch has ended without it')

    def __iter__(self):
        while (event := self.next()) is not None:
            yield event

    def close(self):
        self.answer.close()
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
