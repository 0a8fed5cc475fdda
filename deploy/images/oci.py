"""An OCI image layout as a tar, byte for byte the same for the same content: sorted names, one time, one owner."""

import gzip
import hashlib
import io
import json
import tarfile

MEDIA = 'application/vnd.oci.image.'
FOLDER = None  # in place of a file's content


def packed(entries, seconds):
    """A plain tar of {name: (content or FOLDER, mode)}."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode='w', format=tarfile.USTAR_FORMAT) as tar:
        for name, (content, mode) in sorted(entries.items()):
            info = tarfile.TarInfo(name)
            info.mode, info.mtime = mode, seconds
            if content is FOLDER:
                info.type = tarfile.DIRTYPE
            else:
                info.size = len(content)
            tar.addfile(info, None if content is FOLDER else io.BytesIO(content))
    return made.getvalue()


def digest_of(data):
    return 'sha256:' + hashlib.sha256(data).hexdigest()


class Layout:
    """The blobs of a layout and what names them."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.blobs = {}
        self.manifests = []

    def blob(self, media_type, data):
        self.blobs[digest_of(data)] = data
        return {'mediaType': MEDIA + media_type, 'digest': digest_of(data), 'size': len(data)}

    def document(self, media_type, value):
        return self.blob(media_type, json.dumps(value, sort_keys=True, separators=(',', ':')).encode())

    def image(self, reference, files, config):
        """Adds an image of one layer; the digest of its manifest. `config` is the image's configuration, but for
        the layer."""
        layer = packed(files, self.seconds)
        config = self.document('config.v1+json',
                               {**config, 'rootfs': {'type': 'layers', 'diff_ids': [digest_of(layer)]}})
        manifest = self.document('manifest.v1+json', {
            'schemaVersion': 2, 'mediaType': MEDIA + 'manifest.v1+json', 'config': config,
            'layers': [self.blob('layer.v1.tar+gzip', gzip.compress(layer, compresslevel=9, mtime=0))]})
        # The first name is containerd's, the second the common one.
        names = {'io.containerd.image.name': reference,
                 'org.opencontainers.image.ref.name': reference.rsplit(':', 1)[1]}
        self.manifests.append({**manifest, 'annotations': names})
        return manifest['digest']

    def archive(self):
        index = {'schemaVersion': 2, 'mediaType': MEDIA + 'index.v1+json', 'manifests': self.manifests}
        entries = {'oci-layout': (b'{"imageLayoutVersion":"1.0.0"}', 0o644),
                   'index.json': (json.dumps(index, sort_keys=True).encode(), 0o644),
                   'blobs': (FOLDER, 0o755), 'blobs/sha256': (FOLDER, 0o755)}
        for digest, data in self.blobs.items():
            entries['blobs/sha256/' + digest.split(':')[1]] = (data, 0o644)
        return packed(entries, self.seconds)
