"""The directory of protocols.md 9, as a program that starts pods writes it."""

import json
import os
import pathlib
import tempfile


def replace(path, content):
    """Replaces the contents of `path` by `content`, a text or a value for JSON, at once."""
    draft = path.with_name(f'.tmp-{path.name}')
    draft.write_text(content if isinstance(content, str) else json.dumps(content), encoding='utf-8')
    os.replace(draft, path)


class PlatformDirectory:
    """A directory of its own, gone when closed."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix='sluice-platform-', ignore_cleanup_errors=True)
        self.path = pathlib.Path(self.folder.name)
        (self.path / 'revisions').mkdir()

    def put(self, name, content):
        replace(self.path / name, content)

    def forget(self, name='app', space='default'):
        (self.path / 'revisions' / f'{space}.{name}.json').unlink()

    def close(self):
        self.folder.cleanup()
