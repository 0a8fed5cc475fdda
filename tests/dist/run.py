"""Packages as a machine gets them: run.py BUILD_DIST_TEST, with the folders older, newer and again that ./dev made.

The Debian package is installed, used, upgraded under traffic and removed in a Debian 12 of its own (in_debian.py);
the tarball runs in a root file system that has a static busybox and nothing else. Needs root and Debian's archive.
"""

import hashlib
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
BUILT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else 'build/dist-test').resolve()
BUSYBOX = '/bin/busybox'
# Of the Debian: what the test needs; the package itself needs nothing.
INCLUDED = 'python3,zsh,fish,bash-completion,man-db'
DEBIAN_SECONDS = 900
TEST_SECONDS = 600
BARE_SECONDS = 120
BARE_SCRIPT = """
set -e
ip link set lo up
echo hello >/srv/index.html
cd /srv
sluice version
sluice up -d -- busybox httpd -f -p '127.0.0.1:$PORT' -h /srv
wget -q -O - --header 'Host: app.localhost' http://127.0.0.1:8080/
sluice get
sluice down
"""


def one(folder, pattern):
    found = sorted((BUILT / folder).glob(pattern))
    assert len(found) == 1, f'{folder}/{pattern}: {found}'
    return found[0]


def enclosed(root, *command, seconds):
    """Runs a command in `root` with processes, mounts and a network of its own; all of it ends with the command."""
    mounts = (f'mount -t proc proc {root}/proc && mount --rbind /dev {root}/dev && '
              f'mount -t tmpfs tmpfs {root}/tmp && exec chroot {root} "$@"')
    return subprocess.run(['unshare', '--mount', '--propagation', 'private', '--pid', '--net', '--fork', '--kill-child',
                           'sh', '-c', mounts, 'sh', *command],
                          env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'HOME': '/root', 'LC_ALL': 'C.UTF-8'},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=seconds)


class Built(unittest.TestCase):
    def test_the_same_programs_make_the_same_packages(self):
        for file in (BUILT / 'newer').iterdir():
            again = BUILT / 'again' / file.name
            self.assertEqual(hashlib.sha256(file.read_bytes()).hexdigest(),
                             hashlib.sha256(again.read_bytes()).hexdigest(), file.name)

    def test_programs_load_no_library_and_the_package_depends_on_none(self):
        deb = one('newer', '*.deb')
        control = subprocess.run(['dpkg-deb', '--field', str(deb)], capture_output=True, text=True, check=True,
                                 timeout=60).stdout
        self.assertNotIn('Depends', control)
        with tempfile.TemporaryDirectory() as folder, tarfile.open(one('newer', '*.tar.xz')) as tar:
            tar.extractall(folder)
            for program in (*pathlib.Path(folder).glob('*/bin/*'), *pathlib.Path(folder).glob('*/libexec/sluice/*')):
                done = subprocess.run(['ldd', str(program)], capture_output=True, text=True, timeout=60)
                self.assertIn('not a dynamic executable', done.stdout + done.stderr, program)

    def test_every_file_belongs_to_root_and_nothing_is_outside_its_place(self):
        listing = subprocess.run(['dpkg-deb', '--contents', str(one('newer', '*.deb'))], capture_output=True, text=True,
                                 check=True, timeout=60).stdout
        for line in listing.splitlines():
            owner, path = line.split()[1], line.split()[5]
            self.assertEqual(owner, 'root/root', line)
            self.assertTrue(path == './' or path.startswith(('./usr/', './etc/')), line)


class InDebian(unittest.TestCase):
    """A whole Debian 12, as small as it can be."""

    def test_it_is_installed_used_upgraded_under_traffic_and_removed(self):
        with tempfile.TemporaryDirectory(prefix='sluice-dist-') as folder:
            root = pathlib.Path(folder) / 'root'
            made = subprocess.run(['mmdebstrap', '--quiet', '--variant=apt', f'--include={INCLUDED}', 'bookworm',
                                   str(root)], capture_output=True, text=True, timeout=DEBIAN_SECONDS)
            self.assertEqual(made.returncode, 0, made.stderr[-2000:])
            shutil.copy(one('older', '*.deb'), root / 'srv/older.deb')
            shutil.copy(one('newer', '*.deb'), root / 'srv/newer.deb')
            shutil.copy(HERE / 'in_debian.py', root / 'srv')
            done = enclosed(root, 'python3', '-B', '/srv/in_debian.py', seconds=TEST_SECONDS)
            print(done.stdout)
            self.assertEqual(done.returncode, 0)


class InNothing(unittest.TestCase):
    """A root file system without a C library, users or resolver: the tarball's files and busybox."""

    def test_the_tarball_serves_where_no_library_is(self):
        with tempfile.TemporaryDirectory(prefix='sluice-dist-') as folder:
            root = pathlib.Path(folder)
            for name in ('bin', 'proc', 'dev', 'tmp', 'srv', 'root'):
                (root / name).mkdir()
            shutil.copy(BUSYBOX, root / 'bin')
            for name in ('sh', 'wget', 'ip', 'httpd'):
                (root / 'bin' / name).symlink_to('busybox')
            with tarfile.open(one('newer', '*.tar.xz')) as tar:
                tar.extractall(root / 'srv')
            prefix = next(root.glob('srv/sluice-*'))
            (root / 'bin/sluice').symlink_to(f'/srv/{prefix.name}/bin/sluice')
            done = enclosed(root, '/bin/sh', '-c', BARE_SCRIPT, seconds=BARE_SECONDS)
            print(done.stdout)
            self.assertEqual(done.returncode, 0)
            self.assertIn('\nhello\n', done.stdout)
            self.assertRegex(done.stdout, 'engine app: stopped 1 replica, 0 requests cut')


if __name__ == '__main__':
    unittest.main(argv=['dist'], verbosity=2)
