"""The sidecar beside nginx as reverse proxies of one backend, in interleaved rounds.

Prints CPU time per keep-alive GET of each, the median of the per-round ratios, and the sidecar's idle
memory and time from exec to ready. Behind `./dev bench proxy`; method: bench/README.md.
"""

import argparse
import os
import pathlib
import platform
import re
import select
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

BACKEND = 'daemon off; worker_processes 1; pid {0}/backend.pid; error_log {0}/backend.log; ' \
    'events {{ worker_connections 4096; }} http {{ access_log off; keepalive_requests 100000000; ' \
    '{1} server {{ listen 127.0.0.1:{2}; location / {{ return 200 "hello from the backend\\n"; }} }} }}'
PROXY = 'daemon off; worker_processes 1; pid {0}/proxy.pid; error_log {0}/proxy.log; ' \
    'events {{ worker_connections 4096; }} http {{ access_log off; keepalive_requests 100000000; {1} ' \
    'upstream backend {{ server 127.0.0.1:{2}; keepalive 256; keepalive_requests 100000000; }} ' \
    'server {{ listen 127.0.0.1:{3}; location / {{ proxy_pass http://backend; ' \
    'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; }} }} }}'
SIDECAR = {
    'CONTAINER_CONCURRENCY': '0', 'QUEUE_SERVING_TLS_PORT': '', 'REVISION_TIMEOUT_SECONDS': '300',
    'SERVING_LOGGING_CONFIG': '', 'SERVING_LOGGING_LEVEL': '', 'SERVING_NAMESPACE': 'default',
    'SERVING_CONFIGURATION': 'app', 'SERVING_REVISION': 'app-00001', 'SERVING_POD': 'app-00001-1',
    'SERVING_POD_IP': '127.0.0.1', 'QUEUE_SERVING_PORT': '127.0.0.1:0',
    'SLUICE_ADMIN_ADDRESS': '127.0.0.1:0', 'SLUICE_STATS_ADDRESS': '127.0.0.1:0',
    'SLUICE_METRICS_ADDRESS': '127.0.0.1:0',
}
TICK = os.sysconf('SC_CLK_TCK')
STARTS = 20


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as taken:
        return taken.getsockname()[1]


def wait_listening(port, process):
    until = time.monotonic() + 10
    tick = threading.Event()
    while process.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection(('127.0.0.1', port), timeout=1).close()
            return
        except OSError:
            tick.wait(0.02)
    sys.exit(f'nothing listens on {port}; exit status {process.poll()}')


def start_nginx(folder, name, text, port):
    """An nginx with one worker; returns it and its worker's pid, the process that does the work."""
    path = folder / f'{name}.conf'
    path.write_text(text)
    nginx = shutil.which('nginx') or '/usr/sbin/nginx'
    process = subprocess.Popen([nginx, '-e', 'stderr', '-c', str(path)])
    wait_listening(port, process)
    children = pathlib.Path(f'/proc/{process.pid}/task/{process.pid}/children').read_text().split()
    return process, int(children[0])


def start_sidecar(program, user_port):
    """A queue-proxy, its port, and the seconds from exec to its ready line.

    Popen returns once the exec has happened, so the fork of this interpreter is not in the figure.
    """
    ready, inherited = os.pipe()
    environment = {**os.environ, **SIDECAR, 'USER_PORT': str(user_port),
                   'SLUICE_READY_FD': str(inherited)}
    process = subprocess.Popen([program], env=environment, pass_fds=[inherited])
    began = time.perf_counter()
    os.close(inherited)
    with os.fdopen(ready, 'rb', 0) as pipe:
        if not select.select([pipe], [], [], 10)[0]:
            sys.exit('queue-proxy: not ready within 10 s')
        line = pipe.read(4096)
    took = time.perf_counter() - began
    port = int(re.search(rb'"serving":"[^"]*:(\d+)"', line).group(1))
    return process, port, took


def cpu_seconds(pid):
    fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def rss_mib(pid):
    status = pathlib.Path(f'/proc/{pid}/status').read_text()
    return int(re.search(r'VmRSS:\s+(\d+)', status).group(1)) / 1024


def load(port, pid, seconds, connections):
    """(CPU microseconds per request, requests per second) of one round."""
    before = cpu_seconds(pid)
    done = subprocess.run(['wrk', '-t1', f'-c{connections}', f'-d{seconds}s',
                           f'http://127.0.0.1:{port}/'], capture_output=True, text=True, check=True)
    spent = cpu_seconds(pid) - before
    requests = int(re.search(r'(\d+) requests in', done.stdout).group(1))
    failed = re.search(r'Non-2xx.*|Socket errors.*', done.stdout)
    if failed:
        print(f'  note: {failed.group()}')
    return spent / requests * 1e6, requests / seconds


def starts(program, port):
    """Milliseconds from exec to ready, each on a process of its own, and idle MiB of the last."""
    times, memory = [], 0.0
    for _ in range(STARTS):
        process, _, took = start_sidecar(program, port)
        times.append(took * 1000)
        memory = rss_mib(process.pid)
        process.kill()
        process.wait()
    return times, memory


def compare(arguments, folder, processes):
    room = ' '.join(f'{name}_temp_path {folder};' for name in (
        'client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'))
    backend, front = free_port(), free_port()
    processes.append(start_nginx(folder, 'backend', BACKEND.format(folder, room, backend), backend)[0])
    nginx, worker = start_nginx(folder, 'proxy', PROXY.format(folder, room, backend, front), front)
    processes.append(nginx)
    times, idle = starts(arguments.queue_proxy, backend)
    sidecar, port, _ = start_sidecar(arguments.queue_proxy, backend)
    processes.append(sidecar)
    # Nothing is in flight when it ends; there is no drain to wait for.
    sidecar.terminate = sidecar.kill

    ours, theirs = (port, sidecar.pid), (front, worker)
    for peer in (ours, theirs):
        load(*peer, 1, arguments.connections)
    rows = []
    print('round   queue-proxy               nginx                     ratio of CPU')
    for number in range(arguments.rounds):
        order = (ours, theirs) if number % 2 == 0 else (theirs, ours)
        seen = {peer: load(*peer, arguments.seconds, arguments.connections) for peer in order}
        rows.append((seen[ours][0], seen[theirs][0]))
        print(f'{number + 1:>5}   {seen[ours][0]:5.1f} us {seen[ours][1]:9.0f}/s       '
              f'{seen[theirs][0]:5.1f} us {seen[theirs][1]:9.0f}/s       {rows[-1][0] / rows[-1][1]:.2f}')
    ratio = statistics.median(a / b for a, b in rows)
    print(f'\nCPU per keep-alive GET  queue-proxy {statistics.median(a for a, _ in rows):.1f} us, nginx '
          f'{statistics.median(b for _, b in rows):.1f} us, ratio {ratio:.2f} (median of per-round ratios)')
    print(f'idle memory             {idle:.1f} MiB RSS')
    print(f'exec to ready           {statistics.median(times):.1f} ms median, {max(times):.1f} ms worst '
          f'of {STARTS}')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--queue-proxy', required=True)
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--seconds', type=int, default=4, help='of each round and peer')
    parser.add_argument('--connections', type=int, default=32)
    arguments = parser.parse_args()
    processes = []
    with tempfile.TemporaryDirectory(prefix='sluice-bench-') as folder:
        # The worker of an nginx that root started is another user.
        os.chmod(folder, 0o777)
        try:
            compare(arguments, pathlib.Path(folder), processes)
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait(10)
    commit = subprocess.run(['git', 'rev-parse', '--short', 'HEAD'], capture_output=True, text=True,
                            check=False).stdout.strip()
    print(f'{os.cpu_count()} cores, {platform.machine()}, Linux {platform.release()}, commit '
          f'{commit or "none"}')


if __name__ == '__main__':
    main()
