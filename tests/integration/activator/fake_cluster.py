"""As much of an API server as an activator needs: one Service's EndpointSlice, and nothing of all else."""

import http.server
import json
import os
import tempfile
import threading
import urllib.parse

from wire import PATIENCE


class Answering(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        where = urllib.parse.urlsplit(self.path)
        asked = urllib.parse.parse_qs(where.query)
        cluster = self.server.cluster
        ours = asked.get('labelSelector') == [f'kubernetes.io/service-name={cluster.service}']
        if asked.get('watch'):
            return self.watch(cluster if ours else None)
        with cluster.changed:
            items = [cluster.slice()] if ours else []
        kind = 'EndpointSliceList' if ours else 'List'
        self.answer(json.dumps({'kind': kind, 'metadata': {'resourceVersion': '1'}, 'items': items}))

    def answer(self, text):
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def watch(self, cluster):
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        told = 1
        while not self.server.ended.is_set():
            if cluster is None:
                self.server.ended.wait()
                return
            with cluster.changed:
                cluster.changed.wait_for(lambda: cluster.version > told or self.server.ended.is_set(), PATIENCE)
                if cluster.version == told:
                    return
                told = cluster.version
                line = json.dumps({'type': 'MODIFIED', 'object': cluster.slice()}) + '\n'
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
