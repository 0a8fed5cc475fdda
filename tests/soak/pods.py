"""A pod: a real sidecar and the application behind it, started, probed, drained and killed as a
platform would."""

import asyncio
import json
import os
import shutil
import signal
import socket

from processes import Child
from records import Incident

# A sanitizer that keeps what was freed would look like memory that grows.
SIDECAR = {
    'QUEUE_SERVING_TLS_PORT': '', 'SERVING_LOGGING_CONFIG': '', 'SERVING_LOGGING_LEVEL': '',
    'SERVING_POD_IP': '127.0.0.1', 'SLUICE_METRICS_ADDRESS': '', 'SLUICE_DRAIN_QUIET': '200ms',
    'ASAN_OPTIONS': 'quarantine_size_mb=0:thread_local_quarantine_size_kb=0',
}
PROBE = (b'GET / HTTP/1.1\r\nHost: pod\r\nUser-Agent: kube-probe/1.26\r\n'
         b'K-Network-Probe: queue\r\nConnection: close\r\n\r\n')
PROBE_SECONDS = 12      # the sidecar itself asks the application for up to ten
PROBE_PAUSE = 0.1
DRAIN_SECONDS = 60
END_SECONDS = 10


class Port:
    """A port of 127.0.0.1 that is ours: bound, and never listened on here."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self.socket.bind(('127.0.0.1', 0))
        self.number = self.socket.getsockname()[1]

    def close(self):
        self.socket.close()


async def probe(address):
    """Whether the sidecar says that its pod is ready, as kubelet would ask."""
    try:
        if address.startswith('unix:'):
            opened = asyncio.open_unix_connection(address[5:])
        else:
            host, port = address.rsplit(':', 1)
            opened = asyncio.open_connection(host, int(port))
        reader, writer = await opened
        try:
            writer.write(PROBE)
            line = await asyncio.wait_for(reader.readline(), PROBE_SECONDS)
        finally:
            writer.close()
    except (OSError, asyncio.TimeoutError):
        return False
    return line.startswith(b'HTTP/1.1 200')


class Pod:
    """`changed()` is called when what its revision's file says of it is no longer true."""

    def __init__(self, name, revision, site, changed):
        self.name = name
        self.revision = revision    # Revision: name, spec
        self.site = site            # Site: programs, folders, incidents, problems
        self.changed = changed
        self.folder = site.sockets / name
        self.folder.mkdir()
        self.port = Port()
        self.addresses = {}
        self.ready = False
        self.terminating = False
        self.killed = False
        self.gone = False
        self.mending = False        # a fault is being played on it
        self.app = None
        self.sidecar = None

    def entry(self):
        """As the revision's file has it."""
        entry = {'name': self.name, 'node': f'node-{self.port.number % 3}', 'ready': self.ready,
                 'terminating': self.terminating}
        if self.addresses:
            entry['address'] = self.addresses['serving']
            entry['stats'] = self.addresses['stats']
        return entry

    @property
    def serves(self):
        return self.ready and not (self.terminating or self.killed or self.mending)

    def start_app(self, listen_after):
        spec = self.revision.spec
        command = [self.site.app, str(self.port.number), self.name, str(spec.concurrency),
                   str(self.site.journal), str(int(listen_after * 1000))]
        self.app = Child(command, os.environ, self.site.pod_log, tells_ready=False)

    def start_sidecar(self):
        spec = self.revision.spec
        readiness = {'httpGet': {'path': '/ready', 'port': self.port.number, 'host': '127.0.0.1'},
                     'successThreshold': 1, **spec.probe}
        place = f'unix:{self.folder}'
        serving, stats = (f'{place}/serving', f'{place}/stats') if spec.unix_sockets else \
            ('127.0.0.1:0', '127.0.0.1:0')
        environment = {
            **os.environ, **SIDECAR, 'CONTAINER_CONCURRENCY': str(spec.concurrency),
            'QUEUE_SERVING_PORT': serving, 'SLUICE_STATS_ADDRESS': stats,
            'SLUICE_ADMIN_ADDRESS': f'{place}/admin', 'USER_PORT': str(self.port.number),
            'REVISION_TIMEOUT_SECONDS': str(spec.timeout),
            'SERVING_READINESS_PROBE': json.dumps(readiness), 'SERVING_NAMESPACE': 'default',
            'SERVING_CONFIGURATION': self.revision.name, 'SERVING_REVISION': self.revision.name,
            'SERVING_POD': self.name}
        self.sidecar = Child([self.site.queue_proxy], environment, self.site.pod_log)

    async def live(self, listen_after):
        """Starts it and sees it through until it is ready, or no longer wanted."""
        self.start_app(listen_after)
        self.start_sidecar()
        self.sidecar.ended.add_done_callback(self.sidecar_ended)
        self.watch_app()
        try:
            self.addresses = await self.sidecar.addresses()
        except RuntimeError as error:
            if not self.killed and not self.terminating:
                self.site.problem(f'{self.name}: {error}')
            return
        if self.killed:
            return
        self.changed()
        await self.until_probed(True)

    async def until_probed(self, ready):
        """Asks until the answer is `ready`, and lets the file say so."""
        while not self.terminating and not self.killed:
            if await probe(self.addresses['serving']) == ready:
                if self.terminating or self.killed:
                    return
                self.ready = ready
                self.changed()
                return
            await asyncio.sleep(PROBE_PAUSE)

    def watch_app(self):
        self.app.ended.add_done_callback(self.app_ended)

    def app_ended(self, _ended):
        if not (self.terminating or self.killed or self.mending):
            self.site.problem(f'{self.name}: the application ended by itself')

    def sidecar_ended(self, ended):
        # Before it is ready it may know no drain yet.
        expected = self.terminating and (ended.result() == 0 or not self.addresses)
        if not self.killed and not expected:
            self.site.problem(f'{self.name}: the sidecar ended by itself, status {ended.result()}')

    def incident(self, kind):
        """Notes what is done to the pod; returns the Incident, still open."""
        incident = Incident(kind, self.name, self.revision.name, self.site.now(), float('inf'))
        self.site.incidents.append(incident)
        return incident

    def stop(self):
        """Begins the end at once, so that it begins only once; returns the rest of it to be run."""
        incident = self.incident('pod-drained')
        self.terminating = True
        self.ready = False
        self.changed()
        self.sidecar.terminate()
        return self.drain(incident)

    async def drain(self, incident):
        """The sidecar drains, since its SIGTERM; then the application goes."""
        if not await self.sidecar.end(DRAIN_SECONDS) and not self.killed:
            self.site.problem(f'{self.name}: its drain did not end within {DRAIN_SECONDS} s')
            self.kill_now()
        self.app.terminate()
        await self.away(incident)

    async def kill(self):
        """SIGKILL to both, as when a machine is lost."""
        incident = self.incident('pod-killed')
        self.kill_now()
        await self.away(incident)

    def kill_now(self):
        self.killed = True
        self.sidecar.kill()
        self.app.kill()

    async def away(self, incident):
        for child in (self.sidecar, self.app):
            if not await child.end(END_SECONDS):
                self.site.problem(f'{self.name}: {child.name} did not end within {END_SECONDS} s')
                child.kill()
        incident.ended = self.site.now()
        self.gone = True
        self.ready = False
        self.port.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.changed()

    async def crash_app(self, pause):
        """SIGKILL to the application alone; it comes again after `pause`, as kubelet would do."""
        self.mending = True
        incident = self.incident('app-killed')
        self.app.kill()
        await self.app.end(END_SECONDS)
        self.ready = False
        self.changed()
        await asyncio.sleep(pause)
        if not self.terminating and not self.killed:
            self.start_app(0)
            self.watch_app()
            await self.until_probed(True)
        incident.ended = self.site.now()
        self.mending = False

    async def fail_readiness(self, seconds):
        """Its probe fails for a while; it keeps serving its requests."""
        self.mending = True
        self.app.send(signal.SIGUSR1)
        await self.until_probed(False)
        await asyncio.sleep(seconds)
        self.app.send(signal.SIGUSR2)
        await self.until_probed(True)
        self.mending = False
