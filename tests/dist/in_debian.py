"""The package in the Debian that it is installed in: runs there as root, with a network of its own.

The steps depend on each other, so they are one test; each is printed as it passes.
"""

import fcntl
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import threading
import time
import unittest

OLDER = '/srv/older.deb'
NEWER = '/srv/newer.deb'
USER = 'person'
SECONDS = 120
CONFIG = pathlib.Path('/etc/sluice/config.yaml')
IFF_UP = 1


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack('16sh', b'lo', IFF_UP)
        fcntl.ioctl(any_socket, 0x8914, request)  # SIOCSIFFLAGS


def run(*command, code=0, shell_of=None, **options):
    """Output and errors of a command; as another user through its login shell."""
    words = command if shell_of is None else ('runuser', '-l', shell_of, '-c', command[0])
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, **options)
    assert done.returncode == code, f'{command}: exit {done.returncode}\n{done.stdout}{done.stderr}'
    return done.stdout, done.stderr


def user(line, code=0):
    return run(line, code=code, shell_of=USER)


def install(deb):
    run('apt-get', 'install', '-y', '--allow-downgrades', deb,
        env={**os.environ, 'DEBIAN_FRONTEND': 'noninteractive'})


def version_of(deb):
    return run('dpkg-deb', '--field', deb, 'Version')[0].strip()


def get():
    """Status of one request to the service."""
    connection = http.client.HTTPConnection('127.0.0.1', 8080, timeout=30)
    try:
        connection.request('GET', '/', headers={'Host': 'app.localhost'})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def eventually(condition, what):
    deadline = time.monotonic() + SECONDS
    tick = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f'not within {SECONDS} s: {what}'
        tick.wait(0.1)


def sidecars():
    """Process ids of the sidecars, whatever their program's file is called by now."""
    found = []
    for folder in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            if 'queue-proxy' in os.readlink(folder / 'exe'):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


class Traffic:
    """Requests one after another until it is stopped; what they were answered."""

    def __init__(self):
        self.answers = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.send)
        self.thread.start()

    def send(self):
        while not self.over.is_set():
            try:
                self.answers.append(get())
            except OSError as lost:
                self.answers.append(repr(lost))

    def stop(self):
        self.over.set()
        self.thread.join()
        return self.answers


class Package(unittest.TestCase):
    def step(self, text):
        print(f'  ok  {text}', flush=True)

    def test_it_is_installed_used_upgraded_and_removed(self):
        loopback_up()
        run('useradd', '--create-home', '--shell', '/bin/bash', USER)
        self.older, self.newer = version_of(OLDER), version_of(NEWER)
        self.is_installed()
        self.two_commands_make_a_scaling_service()
        self.shells_complete()
        self.an_upgrade_loses_no_request_and_the_engine_continues()
        self.the_older_engine_starts_its_own_sidecars()
        self.a_new_start_is_of_the_new_version()
        self.a_removal_leaves_the_engine_running()
        self.a_purge_leaves_nothing()

    def is_installed(self):
        install(OLDER)
        self.assertEqual(run('sluice', '--version')[0], f'sluice {self.older}\n')
        self.assertEqual(run('dpkg', '--verify', 'sluice')[0], '')
        listed = run('dpkg', '-L', 'sluice')[0].splitlines()
        for path in ('/usr/bin/sluice', '/usr/libexec/sluice/queue-proxy', '/usr/lib/systemd/user/sluice.service',
                     '/usr/lib/systemd/system/sluice.service', '/etc/sluice/services'):
            self.assertIn(path, listed)
        self.assertIn(str(CONFIG), run('dpkg-query', '-W', '-f', '${Conffiles}', 'sluice')[0])
        run('sluice', 'config', '--check', str(CONFIG))
        # With every comment taken away it is still good, and holds the defaults.
        bare = pathlib.Path('/tmp/config.yaml')
        bare.write_text(re.sub(r'(?m)^#(?=\w|  \w)', '', CONFIG.read_text()))
        run('sluice', 'config', '--check', str(bare))
        shown = json.loads(run('sluice', 'config', '--config', str(bare), '-o', 'json')[0])['settings']
        self.assertEqual({key['key'] for key in shown if key['value'] != key['default']}, set())
        self.assertEqual({key['key'] for key in shown if key['from'] != 'file'}, set())
        self.step(f'installed {self.older}: programs, units, settings with every key')
        pages = [path for path in listed if path.endswith('.gz') and '/man/' in path]
        self.assertGreater(len(pages), 20)
        for page in pages:
            name = pathlib.Path(page).name.removesuffix('.gz')
            done = subprocess.run(['man', '--warnings', '-E', 'UTF-8', '-l', '-Tutf8', page], capture_output=True,
                                  text=True, timeout=SECONDS, env={**os.environ, 'MANWIDTH': '80'})
            self.assertEqual((done.returncode, done.stderr), (0, ''), name)
            # Bold is a letter printed twice.
            shown = re.sub('.\b', '', done.stdout)
            self.assertIn('SYNOPSIS' if name.endswith('.1') else 'KEYS', shown, name)
        self.step(f'{len(pages)} manual pages without a warning')

    def two_commands_make_a_scaling_service(self):
        user("sluice up -d --target 1 -- python3 -m http.server '$PORT'")
        self.assertEqual(get(), 200)
        user('sluice load http://app.localhost:8080 -c 8 --duration 12s --fail-if "errors > 0" '
             '--fail-if "replicas.max < 2"')
        self.step('sluice up, and it scales under load')

    def shells_complete(self):
        bash = ('source /usr/share/bash-completion/completions/sluice; COMP_WORDS=(sluice {}); COMP_CWORD={}; _sluice; '
                'echo "${{COMPREPLY[*]}}"')
        self.assertEqual(user(bash.format('expl', 1))[0], 'explain\n')
        self.assertEqual(user(bash.format('explain ""', 2))[0], 'app\n')
        self.assertIn('sluice', user("fish -c 'complete -C \"sluice up -- slui\"'")[0])
        self.assertIn('--last-cold-start', user(bash.format('explain --la', 2))[0])
        self.assertEqual(user(bash.format('get -o ""', 3))[0], 'table wide json yaml\n')
        self.assertIn('explain', user("fish -c 'complete -C \"sluice expl\"'")[0])
        self.assertIn('app', user("fish -c 'complete -C \"sluice explain \"'")[0])
        self.assertIn('--last-cold-start', user("fish -c 'complete -C \"sluice explain --la\"'")[0])
        self.assertEqual(user("zsh -fc 'autoload -U compinit; compinit -u -D; print $_comps[sluice]'")[0], '_sluice\n')
        user('zsh -n /usr/share/zsh/vendor-completions/_sluice')
        self.step('bash and fish complete verbs, flags and the service that runs; zsh loads its completion')

    def an_upgrade_loses_no_request_and_the_engine_continues(self):
        before = json.loads(user('sluice version -o json')[0])
        self.assertEqual(before['version'], self.older)
        traffic = Traffic()
        install(NEWER)
        eventually(lambda: len(traffic.answers) > 100, 'a hundred answers')
        answers = traffic.stop()
        self.assertEqual(set(answers), {200})
        note = f'engine app runs sluice {self.older}, older than this {self.newer}'
        for verb in ('get', 'version', 'explain app'):
            out, err = user(f'sluice {verb}')
            self.assertEqual(err.count('\n'), 1, err)
            self.assertIn(note, err)
            self.assertNotIn(note, out)
        self.assertEqual(user('sluice version')[0], f'sluice {self.newer}\nengine app runs sluice {self.older}\n')
        self.step(f'upgraded under {len(answers)} requests, none lost; each verb: {err.strip()}')

    def the_older_engine_starts_its_own_sidecars(self):
        self.restarts_from_zero()
        for sidecar in sidecars():
            self.assertEqual(run(f'/proc/{sidecar}/exe', '--version')[0], f'queue-proxy {self.older}\n')
        self.step(f'after the upgrade its new replica has a sidecar of {self.older}')

    def restarts_from_zero(self):
        user('sluice sleep app')
        eventually(lambda: not sidecars(), 'no sidecar')
        self.assertEqual(get(), 200)
        self.assertTrue(sidecars())

    def a_new_start_is_of_the_new_version(self):
        user('sluice down')
        user("sluice up -d -- python3 -m http.server '$PORT'")
        self.assertEqual(get(), 200)
        self.assertEqual(user('sluice get')[1], '')
        self.step(f'stopped and started: {self.newer}, no note')

    def a_removal_leaves_the_engine_running(self):
        user('sluice sleep app')
        eventually(lambda: not sidecars(), 'no sidecar')
        engine = int(json.loads(user('sluice version -o json')[0])['engines'][0]['pid'])
        CONFIG.write_text('max-replicas: 7\n')
        run('apt-get', 'remove', '-y', 'sluice')
        self.assertFalse(pathlib.Path('/usr/bin/sluice').exists())
        self.assertEqual(CONFIG.read_text(), 'max-replicas: 7\n')
        self.assertEqual(get(), 200)
        self.assertTrue(sidecars())
        self.step('removed; its engine wakes the service without the package, the changed settings stay')
        os.kill(engine, signal.SIGTERM)
        eventually(lambda: not sidecars(), 'the end of the engine')

    def a_purge_leaves_nothing(self):
        run('apt-get', 'purge', '-y', 'sluice')
        left = [path for folder in ('/etc', '/usr', '/var/lib') for path in pathlib.Path(folder).rglob('*sluice*')
                if '/dpkg/' not in str(path)]
        self.assertEqual(left, [])
        self.step('purged, nothing left')


if __name__ == '__main__':
    unittest.main(argv=['in_debian'])
