"""axe-core, which finds what keeps people out: from the npm registry, once, for tests alone."""

import pathlib
import shutil
import subprocess
import tarfile
import tempfile

VERSION = '4.10.3'
PLACE = pathlib.Path(__file__).resolve().parents[2] / 'build' / 'browser'
FETCH_SECONDS = 120


class NoAxe(Exception):
    """Why there is none on this machine."""


def source():
    """Its text; fetched by npm where it is not there yet."""
    kept = PLACE / f'axe-core-{VERSION}.min.js'
    if kept.is_file():
        return kept.read_text()
    if not shutil.which('npm'):
        raise NoAxe('npm is not installed')
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(['npm', 'pack', '--silent', f'axe-core@{VERSION}'], cwd=folder, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise NoAxe(f'npm did not answer within {FETCH_SECONDS} s') from None
        packs = list(pathlib.Path(folder).glob('*.tgz'))
        if not packs:
            raise NoAxe(f'npm cannot fetch axe-core {VERSION}: {done.stderr.strip()[-200:]}')
        with tarfile.open(packs[0]) as pack:
            text = pack.extractfile('package/axe.min.js').read()
    PLACE.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(text)
    return text.decode()
