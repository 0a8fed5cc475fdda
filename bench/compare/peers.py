"""The proxies that are compared and the backend behind them, each with one thread that does the work."""

import contextlib
import dataclasses
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

OURS = 'queue-proxy'
UNBUFFERED = 'nginx, unbuffered'
KNATIVE = 'knative'
PATIENCE = 10
MEGABYTE = 1 << 20
IDLE_KEPT = 600
GREETING = b'hello from the backend\n'

NGINX = 'daemon off; worker_processes 1; pid {folder}/{name}.pid; error_log {folder}/{name}.log; ' \
    'events {{ worker_connections 24000; }} http {{ access_log off; default_type text/plain; ' \
    'keepalive_requests 1000000000; keepalive_timeout {idle}s; {temporary} {rest} }}'
# One fixed answer to anything, one large file, and what the proxy made of the request's headers.
BACKEND = 'server {{ listen 127.0.0.1:{port} backlog=4096{protocol}; http2_max_concurrent_streams 250; ' \
    'client_max_body_size 0; location / {{ return 200 "hello from the backend\\n"; }} ' \
    'location = /megabyte {{ root {folder}; }} ' \
    'location = /seen {{ return 200 "$http_host $http_x_forwarded_for\\n"; }} }}'
PROXY = 'upstream backend {{ server 127.0.0.1:{backend}; keepalive 1024; ' \
    'keepalive_requests 1000000000; }} server {{ listen 127.0.0.1:{port} backlog=4096; ' \
    'client_max_body_size 0; {buffering} location / {{ proxy_pass http://backend; ' \
    'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host; ' \
    'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; }} }}'
HAPROXY = '''global
  nbthread 1
  no strict-limits
  maxconn 12000
defaults
  mode http
  option forwardfor
  http-reuse always
  timeout connect 5s
  timeout client {idle}s
  timeout server {idle}s
  timeout http-keep-alive {idle}s
frontend front
  bind 127.0.0.1:{port} backlog 4096{protocol}
  default_backend user
backend user
  server one 127.0.0.1:{backend}{protocol}
'''
NGHTTPX = '''workers=1
frontend=127.0.0.1,{port};no-tls
backend=127.0.0.1,{backend};;proto={protocol}
backlog=4096
add-x-forwarded-for=yes
no-server-push=yes
frontend-http2-max-concurrent-streams=250
frontend-read-timeout={idle}s
frontend-keep-alive-timeout={idle}s
errorlog-file={folder}/nghttpx.log
'''
# Knative's own contract, which both sidecars read. The breaker is on and never full.
SIDECAR = {
    'CONTAINER_CONCURRENCY': '1000', 'QUEUE_SERVING_TLS_PORT': '', 'REVISION_TIMEOUT_SECONDS': '300',
    'SERVING_LOGGING_CONFIG': '', 'SERVING_LOGGING_LEVEL': '', 'SERVING_NAMESPACE': 'default',
    'SERVING_CONFIGURATION': 'app', 'SERVING_REVISION': 'app-00001', 'SERVING_POD': 'app-00001-1',
    'SERVING_POD_IP': '127.0.0.1', 'OBSERVABILITY_CONFIG': '{"requestMetrics":{"protocol":"prometheus"}}',
}
OUR_SIDE_PORTS = {f'SLUICE_{door}_ADDRESS': '127.0.0.1:0' for door in ('ADMIN', 'STATS', 'METRICS')}


class BenchError(Exception):
    """What went wrong, in words that name the tool and the fix."""


@dataclasses.dataclass
class Peer:
    """A running proxy: `pid` is the process that does the work, `process` the one we started."""
    name: str
    port: int
    pid: int
    process: subprocess.Popen
    exec_at: float
    log: pathlib.Path | None = None   # what it prints

    def fate(self):
        """Whether it still runs, and its last words: for the message of an error."""
        status = self.process.poll()
        words = self.log.read_text(errors='replace').split('\n') if self.log else []
        last = next((line for line in reversed(words) if line), 'nothing')
        return f'it {"runs" if status is None else f"ended with {status}"}, and says {last[:300]}'

    def stop(self):
        """Ends the whole process group at once; there is nothing to drain."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)


def program(name):
    """The path of an installed program; Debian's daemons live outside an ordinary user's PATH."""
    found = shutil.which(name, path=os.environ.get('PATH', '') + ':/usr/sbin:/sbin')
    if not found:
        raise BenchError(f'{name} is not installed; ./dev bench proxy installs the peers, or see the '
                         'package lists in ./dev')
    return found


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as taken:
        return taken.getsockname()[1]


class Stage:
    """Starts programs in a folder of their own and ends all of them when left."""

    def __init__(self, folder, queue_proxy, knative=None):
        self.folder = pathlib.Path(folder)
        self.queue_proxy = queue_proxy
        self.knative = knative
        self.running = []
        # The worker of an nginx that root started is another user.
        self.folder.chmod(0o755)
        (self.folder / 'megabyte').write_bytes(b'm' * MEGABYTE)
        self.temporary = ''
        for kind in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'):
            self.temporary += f'{kind}_temp_path {folder}/{kind}; '

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for peer in reversed(self.running):
            peer.stop()

    def names(self, protocol='h1'):
        """The peers that can be asked for, ours first. nginx speaks no HTTP/2 to a backend."""
        peers = [OURS, 'nginx', 'haproxy', 'nghttpx'] if protocol == 'h1' else [
            OURS, 'haproxy', 'nghttpx']
        return peers + ([KNATIVE] if self.knative else [])

    def backend(self, protocol='h1'):
        """An nginx that answers everything; returns its Peer."""
        port = free_port()
        rest = BACKEND.format(port=port, folder=self.folder,
                              protocol=' http2' if protocol == 'h2c' else '')
        return self.run('backend', port, self.nginx('backend', rest))

    def proxy(self, name, backend, protocol='h1'):
        """The proxy `name` in front of `backend`, once it accepts connections."""
        port = free_port()
        return self.run(name, port, *self.command(name, port, backend.port, protocol))

    def stop(self, peer):
        self.running.remove(peer)
        peer.stop()

    def nginx(self, name, rest):
        path = self.folder / f'{name}.conf'
        path.write_text(NGINX.format(folder=self.folder, name=name, idle=IDLE_KEPT, rest=rest,
                                     temporary=self.temporary))
        return [program('nginx'), '-e', 'stderr', '-c', str(path)]

    def command(self, name, port, backend, protocol):
        """(arguments, environment) of a proxy from `port` to `backend`."""
        h2c = protocol == 'h2c'
        if name == OURS:
            return [self.queue_proxy], {**SIDECAR, **OUR_SIDE_PORTS, 'USER_PORT': str(backend),
                                        'QUEUE_SERVING_PORT': f'127.0.0.1:{port}'}
        if name == KNATIVE:
            return [self.knative], {**SIDECAR, 'USER_PORT': str(backend),
                                    'QUEUE_SERVING_PORT': str(port)}
        if name in ('nginx', UNBUFFERED):
            off = '' if name == 'nginx' else 'proxy_buffering off; proxy_request_buffering off;'
            rest = PROXY.format(backend=backend, port=port, buffering=off)
            return self.nginx(name.replace(', ', '-'), rest), {}
        path = self.folder / f'{name}.conf'
        settings = {'port': port, 'backend': backend, 'folder': self.folder, 'idle': IDLE_KEPT}
        if name == 'haproxy':
            path.write_text(HAPROXY.format(**settings, protocol=' proto h2' if h2c else ''))
            return [program('haproxy'), '-q', '-f', str(path)], {}
        path.write_text(NGHTTPX.format(**settings, protocol='h2' if h2c else 'http/1.1'))
        return [program('nghttpx'), f'--conf={path}'], {}

    def run(self, name, port, command, environment=None):
        peer = self.spawn(name, port, command, environment)
        wait_listening(peer)
        peer.pid = working_process(peer.process.pid)
        return peer

    def spawn(self, name, port, command, environment=None):
        """Starts a program without waiting for it; `exec_at` is the moment right before its exec."""
        moment, inherited = os.pipe()

        def mark():
            os.write(inherited, struct.pack('d', time.perf_counter()))

        log = self.folder / f'{name.replace(", ", "-")}.out'
        with log.open('ab') as out:
            try:
                process = subprocess.Popen(command, env={**os.environ, **(environment or {})},
                                           stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                           start_new_session=True, preexec_fn=mark)
            except OSError as problem:
                raise BenchError(f'{name}: cannot run {command[0]}: {problem.strerror}') from problem
            finally:
                os.close(inherited)
        with os.fdopen(moment, 'rb') as pipe:
            exec_at = struct.unpack('d', pipe.read(8))[0]
        peer = Peer(name, port, process.pid, process, exec_at, log)
        self.running.append(peer)
        return peer


def wait_listening(peer):
    until = time.monotonic() + PATIENCE
    tick = threading.Event()
    while peer.process.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection(('127.0.0.1', peer.port), timeout=1).close()
            return
        except OSError:
            tick.wait(0.02)
    raise BenchError(f'{peer.name}: nothing listens on port {peer.port}; {peer.fate()}')


def working_process(pid):
    """nginx and nghttpx work in a child, the others in the process we started."""
    children = pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()
    return int(children[0]) if children else pid
