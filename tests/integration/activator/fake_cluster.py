"""As much of an API server as an activator needs: one Service's EndpointSlice, or a Knative, and nothing of all else."""

import http.server
import json
import os
import tempfile
import threading
import urllib.parse

from wire import PATIENCE


class Answering(http.server.BaseHTTPRequestHandler):
    """Watches that begin with all there is, as an API server of today offers them."""

    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        cluster = self.server.cluster
        document = cluster.document(urllib.parse.urlsplit(self.path).path)
        if document is not None:
            self.answer(*document)
            return
        ours = asked.get('labelSelector') == [f'kubernetes.io/service-name={cluster.service}']
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        told = cluster.version
        for thing in cluster.objects(self.path):
            self.tell('ADDED', thing)
        if ours:
            self.tell('ADDED', cluster.slice())
        self.tell('BOOKMARK', {'metadata': {'resourceVersion': str(told),
                                            'annotations': {'k8s.io/initial-events-end': 'true'}}})
        while not self.server.ended.is_set():
            with cluster.changed:
                cluster.changed.wait_for(lambda: cluster.version > told or self.server.ended.is_set(), PATIENCE)
                changed, told = cluster.version > told, cluster.version
            if ours and changed:
                self.tell('MODIFIED', cluster.slice())

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def tell(self, kind, thing):
        line = json.dumps({'type': kind, 'object': thing}) + '\n'
        self.wfile.write(f'{len(line):x}\r\n{line}\r\n'.encode())

    def log_message(self, *_):
        pass


class FakeCluster:
    """Serves until closed; `kubeconfig` leads to it."""

    def __init__(self, service, ips):
        self.service = service
        self.ips = list(ips)
        self.version = 1
        self.changed = threading.Condition()
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Answering)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.server.cluster = self
        self.server.ended = threading.Event()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.kubeconfig = self.write_kubeconfig()

    def write_kubeconfig(self):
        descriptor, path = tempfile.mkstemp(prefix='sluice-kubeconfig-')
        with os.fdopen(descriptor, 'w', encoding='utf-8') as file:
            json.dump({'current-context': 'a', 'users': [{'name': 'a', 'user': {}}],
                       'clusters': [{'name': 'a', 'cluster': {
                           'server': f'http://127.0.0.1:{self.server.server_port}'}}],
                       'contexts': [{'name': 'a', 'context': {'cluster': 'a', 'user': 'a'}}]}, file)
        return path

    def slice(self):
        return {'apiVersion': 'discovery.k8s.io/v1', 'kind': 'EndpointSlice', 'addressType': 'IPv4',
                'metadata': {'name': f'{self.service}-1', 'namespace': 'system', 'uid': '1',
                             'resourceVersion': str(self.version),
                             'labels': {'kubernetes.io/service-name': self.service}},
                'ports': [], 'endpoints': [{'addresses': [ip]} for ip in self.ips]}

    def document(self, path):
        """(status, document) of what is read by itself, or None: it is a collection to be watched."""
        return None

    def objects(self, path):
        """What a collection has beside the Service's slice."""
        return []

    def replicas(self, *ips):
        """The addresses from now on."""
        with self.changed:
            self.ips = list(ips)
            self.version += 1
            self.changed.notify_all()

    def close(self):
        self.server.ended.set()
        with self.changed:
            self.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()
        os.unlink(self.kubeconfig)


class FakeKnative(FakeCluster):
    """A cluster with a Knative of some release and one of its revisions, served by one address.

    `release`: the label of its definitions, None: reading them is forbidden."""

    DEFINITION = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/revisions.serving.knative.dev'

    def __init__(self, release, address, **spec):
        self.release = release
        self.address = address
        self.spec = spec
        super().__init__('none', [])

    def document(self, path):
        if path == '/apis':
            return 200, {'kind': 'APIGroupList', 'groups': [{'name': 'serving.knative.dev'}]}
        if path != self.DEFINITION:
            return None
        if self.release is None:
            return 403, {'kind': 'Status', 'status': 'Failure', 'reason': 'Forbidden', 'code': 403,
                         'message': 'may not get customresourcedefinitions'}
        return 200, {'metadata': {'name': 'revisions.serving.knative.dev',
                                  'labels': {'app.kubernetes.io/version': self.release}}}

    def objects(self, path):
        path = urllib.parse.unquote(path)
        if path.startswith('/apis/serving.knative.dev/v1/revisions'):
            return [{'metadata': {'name': 'app', 'namespace': 'default', 'uid': '2', 'resourceVersion': '2',
                                  'labels': {'serving.knative.dev/service': 'shop',
                                             'serving.knative.dev/configuration': 'shop'}},
                     'spec': {'containers': [{}], **self.spec}}]
        if '/endpointslices' in path and 'serviceType=Private' in path:
            host, port = self.address.rsplit(':', 1)
            return [{'metadata': {'name': 'app-private-1', 'namespace': 'default', 'uid': '3',
                                  'resourceVersion': '2',
                                  'labels': {'serving.knative.dev/revision': 'app'}},
                     'addressType': 'IPv4', 'ports': [{'name': 'http', 'port': int(port)}],
                     'endpoints': [{'addresses': [host], 'conditions': {'ready': True}}]}]
        return []
