"""An OCI image made by hand: one static program, as a tar that `ctr images import` takes."""

import hashlib
import io
import json
import pathlib
import platform
import subprocess
import tarfile

SOURCE = pathlib.Path(__file__).resolve().parent / 'hog.c'
ARCHITECTURES = {'x86_64': 'amd64', 'aarch64': 'arm64'}
EMPTY_FOLDERS = ('tmp', 'proc', 'sys', 'dev', 'etc')


def compiled(folder):
    """The workload, linked statically: nothing else will be in its root file system."""
    target = pathlib.Path(folder, 'hog')
    subprocess.run(['gcc', '-O2', '-Wall', '-Wextra', '-static', '-s', '-o', str(target), str(SOURCE)],
                   check=True, capture_output=True, timeout=120)
    return target


def entry(tar, name, data=None, mode=0o755):
    info = tarfile.TarInfo(name)
    info.mode = mode
    if data is None:
        info.type = tarfile.DIRTYPE
        tar.addfile(info)
    else:
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))


def packed(entries):
    """A plain tar of (name, data or None for a folder, mode)."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode='w', format=tarfile.USTAR_FORMAT) as tar:
        for name, data, mode in entries:
            entry(tar, name, data, mode)
    return made.getvalue()


class Layout:
    """The blobs of an image layout and the index that names them."""

    def __init__(self):
        self.blobs = {}
        self.manifests = []

    def blob(self, media_type, data):
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return {'mediaType': f'application/vnd.oci.image.{media_type}', 'digest': f'sha256:{digest}',
                'size': len(data)}

    def document(self, media_type, value):
        return self.blob(media_type, json.dumps(value).encode())

    def image(self, reference, layer, entrypoint, user='0'):
        """Adds an image of one layer, which `reference` names in the runtime."""
        layer = self.blob('layer.v1.tar', layer)
        config = self.document('config.v1+json', {
            'architecture': ARCHITECTURES[platform.machine()], 'os': 'linux',
            'config': {'Entrypoint': entrypoint, 'User': user},
            'rootfs': {'type': 'layers', 'diff_ids': [layer['digest']]}})
        manifest = self.document('manifest.v1+json', {
            'schemaVersion': 2, 'mediaType': 'application/vnd.oci.image.manifest.v1+json',
            'config': config, 'layers': [layer]})
        self.manifests.append({**manifest, 'annotations': {'io.containerd.image.name': reference}})

    def archive(self):
        index = {'schemaVersion': 2, 'manifests': self.manifests}
        entries = [('oci-layout', b'{"imageLayoutVersion":"1.0.0"}', 0o644),
                   ('blobs', None, 0o755), ('blobs/sha256', None, 0o755)]
        entries += [(f'blobs/sha256/{digest}', data, 0o644) for digest, data in self.blobs.items()]
        return packed([*entries, ('index.json', json.dumps(index).encode(), 0o644)])


def build(folder):
    """Makes the images `localhost/hog:1` and `localhost/pause:1` in one tar; its path."""
    program = compiled(folder).read_bytes()
    layer = packed([('hog', program, 0o755), *((name, None, 0o755) for name in EMPTY_FOLDERS)])
    layout = Layout()
    layout.image('localhost/hog:1', layer, ['/hog'])
    layout.image('localhost/pause:1', layer, ['/hog', 'pause'])
    target = pathlib.Path(folder, 'images.tar')
    target.write_bytes(layout.archive())
    return target
