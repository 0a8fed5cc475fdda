"""Images of the programs: the same bytes each time, nothing in them but the program and what it loads."""

import hashlib
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

import tree

BUILD = tree.DEPLOY / 'images/build'
SIDECAR_BYTES_MAX = 10 << 20
SECONDS = 100
BIN = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else tree.ROOT / 'build/release/bin').resolve()


def built(out, *programs, **environment):
    done = subprocess.run([sys.executable, '-B', str(BUILD), str(out), '--bin', str(BIN), *programs],
                          capture_output=True, text=True, timeout=SECONDS, env={'PATH': '/usr/bin:/bin', **environment})
    return done.returncode, done.stdout + done.stderr


class Image:
    """An image as it was written: its index, configuration and files, each blob held against its digest."""

    def __init__(self, path):
        with tarfile.open(path) as tar:
            self.blobs = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}
        self.index = json.loads(self.blobs['index.json'])
        descriptor = self.index['manifests'][0]
        self.name = descriptor['annotations']['io.containerd.image.name']
        self.manifest = json.loads(self.blob(descriptor))
        self.config = json.loads(self.blob(self.manifest['config']))
        self.layer = self.manifest['layers'][0]
        with tempfile.TemporaryFile() as raw:
            raw.write(self.blob(self.layer))
            raw.seek(0)
            with tarfile.open(fileobj=raw, mode='r:gz') as tar:
                self.members = tar.getmembers()

    def blob(self, descriptor):
        data = self.blobs['blobs/sha256/' + descriptor['digest'].split(':')[1]]
        assert hashlib.sha256(data).hexdigest() == descriptor['digest'].split(':')[1]
        assert len(data) == descriptor['size']
        return data

    def files(self):
        return sorted(member.name for member in self.members if member.isfile())


class Images(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.out = pathlib.Path(cls.folder.name)
        cls.status, cls.said = built(cls.out, 'queue-proxy', 'activator')
        assert cls.status == 0, cls.said

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_the_same_program_makes_the_same_image(self):
        with tempfile.TemporaryDirectory() as again:
            status, said = built(again, 'queue-proxy', 'activator')

            self.assertEqual((status, said), (0, self.said))
            for name in ('queue-proxy.tar', 'activator.tar'):
                self.assertEqual((self.out / name).read_bytes(), (pathlib.Path(again) / name).read_bytes(), name)

    def test_the_time_of_the_image_is_the_one_requested(self):
        with tempfile.TemporaryDirectory() as other:
            built(other, 'queue-proxy', SOURCE_DATE_EPOCH='1700000000')
            image = Image(pathlib.Path(other) / 'queue-proxy.tar')

        self.assertEqual(image.config['created'], '2023-11-14T22:13:20Z')
        self.assertEqual({member.mtime for member in image.members}, {1700000000})

    def test_the_sidecar_is_the_program_alone_and_within_its_size(self):
        image = Image(self.out / 'queue-proxy.tar')

        self.assertEqual(image.files(), ['queue-proxy'])
        self.assertLess(sum(member.size for member in image.members), SIDECAR_BYTES_MAX)
        self.assertLess((self.out / 'queue-proxy.tar').stat().st_size, SIDECAR_BYTES_MAX)

    def test_it_runs_without_privileges_and_is_labelled(self):
        config = Image(self.out / 'queue-proxy.tar').config

        self.assertEqual(config['config']['User'], '65532:65532')
        self.assertEqual(config['config']['Entrypoint'], ['/queue-proxy'])
        self.assertEqual(config['os'], 'linux')
        self.assertEqual(config['config']['Labels']['org.opencontainers.image.title'], 'queue-proxy')

    def test_it_is_imported_under_the_name_in_the_chart(self):
        chart = (tree.DEPLOY / 'manifests/standard.yaml').read_text()

        self.assertIn(f'image: {Image(self.out / "activator.tar").name}\n', chart)
        self.assertIn(f'value: "{Image(self.out / "queue-proxy.tar").name}"\n', chart)

    def test_a_program_finds_every_library_that_it_links(self):
        image = Image(self.out / 'activator.tar')
        there = {pathlib.PurePath(name).name for name in image.files()}
        asked = subprocess.run(['readelf', '-d', str(BIN / 'activator')], capture_output=True, text=True, check=True,
                               timeout=SECONDS).stdout
        needed = {line.split('[')[1].rstrip(']') for line in asked.splitlines() if '(NEEDED)' in line}

        self.assertEqual(sorted(needed - there), [])

    def test_every_file_in_it_belongs_to_root_and_is_read_only(self):
        for name in ('queue-proxy', 'activator'):
            for member in Image(self.out / f'{name}.tar').members:
                self.assertEqual((member.uid, member.gid), (0, 0), member.name)
                self.assertTrue(member.name == 'tmp' or not member.mode & 0o022, member.name)

    def test_the_layer_matches_the_configuration(self):
        image = Image(self.out / 'queue-proxy.tar')

        self.assertEqual(image.layer['mediaType'], 'application/vnd.oci.image.layer.v1.tar+gzip')
        self.assertEqual(len(image.config['rootfs']['diff_ids']), 1)

    def test_a_program_that_is_not_there_is_named(self):
        status, said = built(self.out, 'queue-poxy')

        self.assertEqual(status, 1)
        self.assertIn('no program queue-poxy; there are: queue-proxy', said)


if __name__ == '__main__':
    unittest.main(argv=['images_test'])
