"""As much of an API server as the way to a Service needs: TLS, tokens, and its proxy to one autoscaler."""

import contextlib
import json
import select
import socket
import ssl
import subprocess
import threading

from wire import PATIENCE, Reader, connect, request_bytes

PREFIX = '/api/v1/namespaces/{}/services/http:autoscaler:8082/proxy'
TOKEN = 'token-of-a-person'
REASONS = {401: 'Unauthorized', 403: 'Forbidden', 404: 'NotFound', 503: 'ServiceUnavailable'}


def make_certificate(folder):
    """(certificate, key) that is good for 127.0.0.1 alone."""
    pair = folder / 'api.crt', folder / 'api.key'
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
                    '-days', '2', '-subj', '/CN=api', '-addext', 'subjectAltName=IP:127.0.0.1',
                    '-out', str(pair[0]), '-keyout', str(pair[1])], check=True, capture_output=True)
    return pair


class Asked:
    """One request: method, target and headers by lower-case name, as it came."""

    def __init__(self, head):
        start, *lines = head.decode('latin-1').split('\r\n')
        self.method, self.target, _ = start.split(' ')
        self.lines = [tuple(part.strip() for part in line.split(':', 1)) for line in lines]
        self.headers = {name.lower(): value for name, value in self.lines}


class ServiceProxy:
    """Serves until closed. `refuse`: a status that it answers by itself, or 0; `play`: answers on the connection
    instead of the autoscaler, as `play(sock, asked)`."""

    def __init__(self, folder, autoscaler='', space='sluice-system'):
        self.autoscaler = autoscaler
        self.prefix = PREFIX.format(space)
        self.refuse = 0
        self.token = TOKEN
        self.play = None
        self.asked = []
        self.open = set()  # connections on which an answer is on its way
        self.lock = threading.Lock()
        self.certificate, key = make_certificate(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        # A client that presents this very certificate is known by it.
        context.load_verify_locations(self.certificate)
        context.verify_mode = ssl.CERT_OPTIONAL
        self.door = context.wrap_socket(socket.create_server(('127.0.0.1', 0)), server_side=True,
                                        do_handshake_on_connect=False)
        self.address = '127.0.0.1:%d' % self.door.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def kubeconfig(self, **changes):
        """A kubeconfig that leads here; `changes` of its user."""
        user = {key: value for key, value in {'token': TOKEN, **changes}.items() if value is not None}
        cluster = {'server': f'https://{self.address}', 'certificate-authority': str(self.certificate)}
        return json.dumps({'current-context': 'a', 'users': [{'name': 'a', 'user': user}],
                           'clusters': [{'name': 'a', 'cluster': cluster}],
                           'contexts': [{'name': 'a', 'context': {'cluster': 'a', 'user': 'a'}}]})

    def accept(self):
        while True:
            try:
                sock, _ = self.door.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=[sock], daemon=True).start()

    def serve(self, sock):
        sock.settimeout(PATIENCE)
        try:
            sock.do_handshake()
            head = Reader(sock).until(b'\r\n\r\n')
            if head:
                asked = Asked(head)
                with self.lock:
                    self.asked.append(asked)
                    self.open.add(sock)
                self.answer(sock, asked)
        except OSError:
            pass
        finally:
            with self.lock:
                self.open.discard(sock)
            sock.close()

    def answer(self, sock, asked):
        status = self.refuse
        if asked.headers.get('authorization') != f'Bearer {self.token}' and not sock.getpeercert():
            status = 401
        elif not asked.target.startswith(self.prefix + '/'):
            status = 404
        if status:
            return self.tell(sock, status)
        if self.play:
            return self.play(sock, asked)
        target = asked.target[len(self.prefix):]
        fields = [field for field in asked.lines if field[0].lower() not in ('host', 'authorization', 'connection')]
        with connect(self.autoscaler) as there:
            there.sendall(request_bytes(asked.method, target, self.autoscaler, [*fields, ('Connection', 'close')]))
            return self.relay(there, sock)

    @staticmethod
    def relay(there, sock):
        """What comes from there goes on at once, until either leaves."""
        while True:
            ready = [sock] if sock.pending() else select.select([there, sock], [], [], PATIENCE)[0]
            if sock in ready or not ready:
                return  # a client that says more has left, or there is nothing for too long
            piece = there.recv(65536)
            if not piece:
                return
            sock.sendall(piece)

    @staticmethod
    def tell(sock, status):
        body = json.dumps({'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure', 'code': status,
                           'reason': REASONS.get(status, ''), 'message': f'told {status}'}).encode()
        sock.sendall(b'HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n'
                     b'Connection: close\r\n\r\n' % (status, len(body)) + body)

    def streams(self):
        """How many answers are on their way."""
        with self.lock:
            return len(self.open)

    def close(self):
        with contextlib.suppress(OSError):  # closed already
            socket.socket.shutdown(self.door, socket.SHUT_RDWR)  # wakes who waits for a connection
        self.door.close()
