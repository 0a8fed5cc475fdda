"""What mutual TLS adds to a cold start: from a request at the activator to the autoscaler's order."""

import os
import pathlib
import socket
import statistics
import subprocess
import time

from activator_stage import NAMESPACE, ActivatorStage
from peers import OURS, PATIENCE, BenchError, free_port
from scenarios import progress
from table import Row

PAIRS = 200
NAMES = {'autoscaler': 'DNS:autoscaler,DNS:localhost,IP:127.0.0.1,URI:sluice://autoscaler',
         'activator': 'URI:sluice://activator'}
ASLEEP = {'autoscaling.knative.dev/initial-scale': '0'}


def openssl(*arguments):
    subprocess.run(['openssl', *map(str, arguments)], check=True, capture_output=True)


def certificates(folder):
    """A directory for each program, as SLUICE_TLS_DIR wants it."""
    openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=bench',
            '-days', '1', '-keyout', folder / 'ca.key', '-out', folder / 'ca.crt')
    for program, names in NAMES.items():
        own = folder / program
        own.mkdir()
        (own / 'names').write_text(f'subjectAltName={names}', encoding='ascii')
        openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', f'/CN={program}',
                '-keyout', own / 'tls.key', '-out', own / 'csr')
        openssl('x509', '-req', '-in', own / 'csr', '-CA', folder / 'ca.crt', '-CAkey', folder / 'ca.key',
                '-CAcreateserial', '-days', '1', '-extfile', own / 'names', '-out', own / 'tls.crt')
        (own / 'ca.crt').write_bytes((folder / 'ca.crt').read_bytes())
    return folder


class Link(ActivatorStage):
    """An activator and an autoscaler over files of their own, and one sleeping revision for each pair."""

    def __init__(self, folder, stage, pairs, tls=None):
        pathlib.Path(folder).mkdir()
        super().__init__(folder, stage.activator_path.rsplit('/', 1)[0], stage.held)
        self.autoscaler_path = str(pathlib.Path(self.activator_path).with_name('autoscaler'))
        self.tls = tls
        (self.platform / 'config-autoscaler.json').write_text('{"allow-zero-initial-scale": "true"}')
        for number in range(pairs):
            self.revision(f'app-{number:04}', host=f'{number}.example', annotations=ASLEEP)

    def secured(self, program):
        return {} if self.tls is None else {'SLUICE_TLS_DIR': str(self.tls / program)}

    def begin(self):
        port = free_port()
        doors = {f'SLUICE_{door}_ADDRESS': '127.0.0.1:0' for door in ('STATS', 'API', 'METRICS')}
        self.run('autoscaler', port, [self.autoscaler_path], {
            **doors, 'SLUICE_PLATFORM': f'dir:{self.platform}', 'SLUICE_GRPC_ADDRESS': f'127.0.0.1:{port}',
            'SLUICE_LOG_LEVEL': 'error', **self.secured('autoscaler')})
        self.front = self.activator(SLUICE_AUTOSCALER_ADDRESS=f'localhost:{port}', **self.secured('activator'))

    def order(self, number):
        path = self.platform / 'scale' / f'{NAMESPACE}.app-{number:04}.json'
        try:
            return '"replicas":1' in path.read_text().replace(' ', '')
        except FileNotFoundError:
            return False

    def wake_ms(self, number):
        """A request for a revision that sleeps, and how long until one replica of it is ordered."""
        with socket.create_connection(('127.0.0.1', self.front.port), PATIENCE) as client:
            request = f'GET / HTTP/1.1\r\nHost: {number}.example\r\n\r\n'.encode()
            begun = time.perf_counter()
            client.sendall(request)
            while not self.order(number):
                if time.perf_counter() - begun > PATIENCE:
                    raise BenchError(f'revision {number} was not woken')
                os.sched_yield()
            return (time.perf_counter() - begun) * 1e3


def link(stage, _options):
    """Pairs in turns, whose halves change places each time."""
    with Link(stage.folder / 'plain', stage, PAIRS + 1) as plain, \
            Link(stage.folder / 'mutual', stage, PAIRS + 1, certificates(stage.folder)) as mutual:
        for each in (plain, mutual):
            each.begin()
            each.wake_ms(PAIRS)  # connected, and everything is in memory
        figures = {plain: [], mutual: []}
        for number in range(PAIRS):
            for each in (plain, mutual) if number % 2 else (mutual, plain):
                figures[each].append(each.wake_ms(number))
    more = statistics.median(b - a for a, b in zip(figures[plain], figures[mutual]))
    for name, each in (('plain text', plain), ('mutual TLS', mutual)):
        progress(f'  {name}: {statistics.median(figures[each]):.2f} ms')
    return [Row('link', f'request to order: mutual TLS less plain text, {PAIRS} pairs', 'ms',
                {OURS: [more]}, 1.0)]
