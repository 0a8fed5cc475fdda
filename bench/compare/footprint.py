"""What a proxy is when it does nothing: memory, time to start, and the cores on the request path."""

import contextlib
import json
import pathlib
import resource
import select
import socket
import statistics
import subprocess
import tempfile
import time

from meters import fetch, rss_kib
from peers import PATIENCE, UNBUFFERED, BenchError, Peer, free_port
from scenarios import progress
from table import Row

IDLE_CONNECTIONS = 10_000
SPARE_FILES = 500
AT_ONCE = 64
STARTS = 21
REQUEST = b'GET / HTTP/1.1\r\nHost: app.example\r\n\r\n'
SETTLE_SECONDS = 2
UPLOAD_BYTES = 256 << 20
STALL_SECONDS = 1
# Benchmarks of the cores that every request passes, with what one item of each is.
MICRO = (('breaker_free', 'breaker admit + release'), ('request_stats', 'statistics enter + leave'))
MICRO_BAR_NS = 40
NANOSECONDS = {'ns': 1, 'us': 1e3, 'ms': 1e6, 's': 1e9}


def raise_file_limit(files):
    """Opens the soft limit on files as far as it goes; what we start inherits it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < files:
        raise BenchError(f'{files} open files are needed and the hard limit is {hard}; run as root '
                         f'"ulimit -Hn {files}" first, or leave out --only memory')
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def wait(poll, seconds):
    """Descriptors that became readable within the time; a closed connection is readable."""
    return poll.poll(seconds * 1000)


def batch(port, count, sockets):
    """Opens connections and has each serve one request, all of the batch at once."""
    opened = []
    for _ in range(count):
        opened.append(socket.create_connection(('127.0.0.1', port), timeout=PATIENCE))
        sockets.append(opened[-1])
    for sock in opened:
        sock.sendall(REQUEST)
    for sock in opened:
        answer = sock.recv(4096)
        if not answer.startswith(b'HTTP/1.1 200'):
            raise BenchError(f'port {port}: connection {len(sockets)} was answered {answer[:60]!r}')


def idle_connections(stage, name, backend):
    """(RSS in KiB after the first request, RSS with all idle connections) of a fresh proxy."""
    peer = stage.proxy(name, backend)
    fetch(peer.port, '/')
    alone = rss_kib(peer.pid)
    sockets = []
    with contextlib.ExitStack() as stack:
        for done in range(0, IDLE_CONNECTIONS, AT_ONCE):
            batch(peer.port, min(AT_ONCE, IDLE_CONNECTIONS - done), sockets)
        poll = select.poll()
        for sock in sockets:
            stack.enter_context(sock)
            poll.register(sock, select.POLLIN)
        closed = wait(poll, SETTLE_SECONDS)
        if closed:
            raise BenchError(f'{name}: {len(closed)} of {IDLE_CONNECTIONS} idle connections were closed')
        crowded = rss_kib(peer.pid)
        stage.stop(peer)
    progress(f'  {name:<18} {alone / 1024:6.1f} MiB idle, {crowded / 1024:6.1f} MiB with '
             f'{IDLE_CONNECTIONS} connections')
    return alone, crowded


def memory(stage, _):
    raise_file_limit(IDLE_CONNECTIONS + SPARE_FILES)
    backend = stage.backend()
    idle, each, crowd = {}, {}, {}
    for name in stage.names():
        alone, crowded = idle_connections(stage, name, backend)
        idle[name] = [alone / 1024]
        each[name] = [(crowded - alone) / IDLE_CONNECTIONS]
        crowd[name] = [crowded / 1024]
    stage.stop(backend)
    return [Row('memory', 'RSS, idle', 'MiB', idle, 8),
            Row('memory', 'RSS per idle connection', 'KiB', each, 20),
            Row('memory', f'RSS, {IDLE_CONNECTIONS} idle connections', 'MiB', crowd, 200)]


def first_answer(peer):
    """Seconds from exec to the first 200, asked for as often as the kernel refuses."""
    until = peer.exec_at + PATIENCE
    while peer.process.poll() is None and time.perf_counter() < until:
        with contextlib.suppress(OSError):
            with socket.create_connection(('127.0.0.1', peer.port), timeout=1) as sock:
                sock.sendall(REQUEST)
                if sock.recv(4096).startswith(b'HTTP/1.1 200'):
                    return time.perf_counter() - peer.exec_at
    raise BenchError(f'{peer.name}: no 200 within {PATIENCE} s of its exec; {peer.fate()}')


def starts(stage, _):
    """exec to the first 200 through a ready upstream, each on a process of its own."""
    backend = stage.backend()
    names = stage.names()
    seen = {name: [] for name in names}
    for number in range(STARTS):
        for name in names[number % len(names):] + names[:number % len(names)]:
            port = free_port()
            peer = stage.spawn(name, port, *stage.command(name, port, backend.port, 'h1'))
            seen[name].append(first_answer(peer) * 1000)
            stage.stop(peer)
    stage.stop(backend)
    for name, times in seen.items():
        progress(f'  {name:<18} {statistics.median(times):6.1f} ms, slowest {max(times):.1f} ms')
    return [Row('start', 'exec to first 200', 'ms', seen, 5)]


def stalled_upload(peer, sink):
    """(bytes taken, RSS in KiB at the end) of an upload to a backend that reads nothing."""
    head = f'POST / HTTP/1.1\r\nHost: app.example\r\nContent-Length: {UPLOAD_BYTES}\r\n\r\n'
    block = b'u' * (1 << 16)
    taken = 0
    with socket.create_connection(('127.0.0.1', peer.port), timeout=STALL_SECONDS) as sock:
        sock.sendall(head.encode())
        try:
            with contextlib.suppress(TimeoutError):
                while taken < UPLOAD_BYTES:
                    taken += sock.send(block)
            with contextlib.closing(sink.accept()[0]):
                return taken, rss_kib(peer.pid)
        except OSError as problem:
            raise BenchError(f'{peer.name}: the upload ended after {taken} bytes: {problem}; '
                             f'{peer.fate()}') from problem


def upload(stage, _):
    """The cost of back pressure: a client sends as long as it can, the backend reads nothing."""
    names = [name for name in stage.names() if name != 'nginx'] + [UNBUFFERED]
    grown = {}
    with socket.create_server(('127.0.0.1', 0)) as sink:
        sink.settimeout(PATIENCE)
        for name in names:
            peer = stage.proxy(name, Peer('sink', sink.getsockname()[1], 0, None, 0))
            before = rss_kib(peer.pid)
            taken, after = stalled_upload(peer, sink)
            stage.stop(peer)
            grown[name] = [(after - before) / 1024]
            progress(f'  {name:<18} {grown[name][0]:5.1f} MiB more, {taken / (1 << 20):.1f} MiB taken '
                     'from the client')
    return [Row('upload', 'RSS growth, upload nobody reads', 'MiB', grown)]


def micro(_, options):
    """The breaker and the statistics alone, as Google Benchmark times them."""
    program = pathlib.Path(options.micro_bench)
    if not program.is_file():
        progress(f'  {program} is not built; ./dev bench micro does')
        return []
    wanted = '|'.join(f'^{name}$' for name, _ in MICRO)
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, 'micro.json')
        done = subprocess.run([program, f'--benchmark_filter={wanted}', f'--benchmark_out={out}',
                               '--benchmark_out_format=json', '--benchmark_repetitions=5'],
                              capture_output=True, text=True, check=False)
        # 1: something allocated; the row below shows it.
        if done.returncode not in (0, 1):
            raise BenchError(f'{program} ended with {done.returncode}: {done.stderr.strip()}')
        results = [one for one in json.loads(out.read_text())['benchmarks']
                   if one['run_type'] == 'iteration']
    rows = []
    for name, what in MICRO:
        mine = [one for one in results if one['run_name'] == name]
        if not mine:
            raise BenchError(f'{program} has no benchmark {name}')
        times = [one['cpu_time'] * NANOSECONDS[one['time_unit']] for one in mine]
        rows.append(Row('micro', what, 'ns', {'queue-proxy': times}, MICRO_BAR_NS, strict=True))
        rows.append(Row('micro', f'{what}, allocations', '',
                        {'queue-proxy': [one['allocations_per_item'] for one in mine]}, 0))
    return rows


FOOTPRINT = {'memory': memory, 'start': starts, 'upload': upload, 'micro': micro}
