"""What is read: CPU time and memory of a process, and what the load tools report."""

import dataclasses
import http.client
import os
import pathlib
import re
import statistics
import subprocess
import time

from peers import GREETING, BenchError, program

POST_BYTES = 16 << 10
TICKS = os.sysconf('SC_CLK_TCK')
# A client of h2load sends on a timer that is never shorter than 10 ms: more than this and it sends
# in bursts.
CLIENT_RATE_MAX = 97


@dataclasses.dataclass(frozen=True)
class Shape:
    """One kind of load: what is asked for, over how many connections."""
    path: str = '/'
    connections: int = 1
    post: bool = False
    streams: int = 0   # of HTTP/2 on each connection; 0 = HTTP/1.1
    host: str = ''     # of HTTP/1.1; empty: the address


def cpu_seconds(pid):
    """User and system time of all threads of a process, living and gone, to the nanosecond.

    The clock of another process has the number that clock_getcpuclockid(3) makes of its pid.
    """
    return time.clock_gettime((~pid << 3) | 2)


def rss_kib(pid):
    status = pathlib.Path(f'/proc/{pid}/status').read_text()
    return int(re.search(r'VmRSS:\s+(\d+)', status).group(1))


def busy_seconds():
    """CPU time of the whole machine, idle and waiting left out."""
    user, nice, system, _, _, irq, soft, stolen = map(int, pathlib.Path('/proc/stat').read_text().split('\n', 1)[0].split()[1:9])
    return (user + nice + system + irq + soft + stolen) / TICKS


def own_seconds():
    """CPU time of this process and all that descend from it, those that ended and were waited for included."""
    parents, spent = {}, {}
    for file in pathlib.Path('/proc').glob('[0-9]*/stat'):
        try:
            fields = file.read_text().rsplit(')', 1)[1].split()
        except OSError:
            continue   # it has ended
        parents[int(file.parent.name)] = int(fields[1])
        spent[int(file.parent.name)] = sum(map(int, fields[11:15])) / TICKS
    total = 0.0
    for pid, seconds in spent.items():
        above = pid
        while above in parents and above != os.getpid():
            above = parents[above]
        total += seconds if above == os.getpid() else 0
    return total


class OtherWork:
    """How many cores other programs of the machine kept busy since it was made."""

    def __init__(self):
        self.began, self.busy, self.own = time.monotonic(), busy_seconds(), own_seconds()

    def cores(self):
        passed = max(time.monotonic() - self.began, 1 / TICKS)
        return max(0.0, (busy_seconds() - self.busy) - (own_seconds() - self.own)) / passed


def run(command):
    """The output of a load tool; any failure of it is an error."""
    done = subprocess.run([program(command[0]), *command[1:]], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f'{" ".join(command)} ended with {done.returncode}: {done.stderr.strip()}')
    return done.stdout


def wrk(peer, shape, seconds, folder):
    """Requests that wrk finished in `seconds`."""
    command = ['wrk', '-t1', f'-c{shape.connections}', f'-d{seconds}s', '--timeout=10s']
    if shape.host:
        command += ['-H', f'Host: {shape.host}']
    if shape.post:
        script = pathlib.Path(folder, 'post.lua')
        script.write_text(f'wrk.method = "POST"\nwrk.body = string.rep("x", {POST_BYTES})\n')
        command += ['-s', str(script)]
    out = run([*command, f'http://127.0.0.1:{peer.port}{shape.path}'])
    failed = re.search(r'Non-2xx.*|Socket errors.*', out)
    if failed:
        raise BenchError(f'{peer.name}: wrk saw failures: {failed.group()}')
    return int(re.search(r'(\d+) requests in', out).group(1))


def h2load_requests(out, peer):
    """Requests that h2load finished, all of them with a status of 2xx."""
    counts = re.search(r'(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout', out)
    succeeded, *bad = (int(count) for count in counts.groups())
    if any(bad) or not succeeded:
        raise BenchError(f'{peer.name}: not every request of h2load succeeded: {counts.group()}')
    return succeeded


def h2load(peer, shape, seconds):
    out = run(['h2load', f'-c{shape.connections}', f'-m{shape.streams}', '-t1', f'-D{seconds}',
               f'http://127.0.0.1:{peer.port}{shape.path}'])
    return h2load_requests(out, peer)


@dataclasses.dataclass(frozen=True)
class Round:
    cpu_us: float   # of the proxy, per request
    rate: float     # requests per second


def cpu_round(peer, shape, seconds, folder):
    """One round of load through one peer."""
    before = cpu_seconds(peer.pid)
    began = time.monotonic()
    requests = (h2load(peer, shape, seconds) if shape.streams else wrk(peer, shape, seconds, folder))
    took = time.monotonic() - began
    spent = cpu_seconds(peer.pid) - before
    if not requests:
        raise BenchError(f'{peer.name}: not one request finished within {seconds} s')
    return Round(spent / requests * 1e6, requests / took)


@dataclasses.dataclass(frozen=True)
class Latency:
    p50_us: float
    p99_us: float
    rate: float


def fixed_rate_round(peer, rate, seconds, folder):
    """Latency of HTTP/1.1 GETs sent at a fixed rate, whatever the answers do.

    Many slow clients start one after the other, so that their timers do not fire together. Only the
    time in which all of them send counts.
    """
    clients = -(-int(rate) // CLIENT_RATE_MAX)
    each = rate / clients
    ramp = clients * 0.004
    total = clients * int(each * (seconds + ramp))
    log = pathlib.Path(folder, 'h2load.log')
    log.unlink(missing_ok=True)
    out = run(['h2load', '--h1', f'-c{clients}', '-t1', '-r1', '--rate-period=4ms', f'-n{total}',
               f'--rps={each:.3f}', f'--log-file={log}', f'http://127.0.0.1:{peer.port}/'])
    h2load_requests(out, peer)
    rows = [line.split('\t') for line in log.read_text().splitlines()]
    starts = [int(row[0]) for row in rows]
    first = min(starts)
    begin, end = first + ramp * 1e6, first + (seconds + ramp) * 1e6
    seen = sorted(int(row[2]) for row, start in zip(rows, starts) if begin <= start < end)
    if len(seen) < 100:
        raise BenchError(f'{peer.name}: h2load logged {len(seen)} requests of {rate * seconds:.0f}')
    return Latency(statistics.median(seen), seen[int(len(seen) * 0.99)], len(seen) / seconds)


def fetch(port, path, host='app.example', timeout=10):
    """One GET over HTTP/1.1: (status, body)."""
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=timeout)
    try:
        connection.request('GET', path, headers={'Host': host})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except OSError as problem:
        raise BenchError(f'port {port}: no answer to GET {path}: {problem}') from problem
    finally:
        connection.close()


def check_proxies(peer):
    """Holds a peer to the same work as the others: the host kept, the client's address added."""
    status, body = fetch(peer.port, '/')
    if (status, body) != (200, GREETING):
        raise BenchError(f'{peer.name}: GET / gave {status} {body[:60]!r} instead of the backend\'s answer')
    _, seen = fetch(peer.port, '/seen')
    if seen != b'app.example 127.0.0.1\n':
        raise BenchError(f'{peer.name}: the backend saw host and X-Forwarded-For {seen!r}')
