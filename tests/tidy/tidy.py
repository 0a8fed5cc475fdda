"""Checks the source tree against its rules: tidy.py ROOT.

Prints `file:line: rule: fix` for each breach; exit status 1 if there is one.
"""

import itertools
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from features import unknown_feature_test  # noqa: E402
from manual import unknown_message, unlisted_page  # noqa: E402
from pages import Pages  # noqa: E402
from rules import RULES  # noqa: E402
from source import Source  # noqa: E402
from unused import TREE_RULES as UNUSED_RULES  # noqa: E402

ROOMS = ('docs', 'common', 'queue-proxy', 'injector', 'activator', 'autoscaler', 'memory-pressure', 'load', 'platform',
         'programs', 'deploy', 'bench', 'tests')
TOP = ('CMakeLists.txt', 'CMakePresets.json', 'README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'dev')
SUFFIXES = ('.cpp', '.h', '.py', '.md', '.cmake', '.txt', '.proto', '.service', '.yaml', '.yml', '.js', '.html', '.css')
# Copied evidence, not ours to lay out: decision vectors and fuzz inputs.
EXCLUDED = ('tests/vectors', 'tests/fuzz/corpus')
FILE_BYTES_MAX = 1 << 20


def sources(root):
    """Yields every file that the rules look at."""
    pages = Pages(root)
    for name in TOP:
        if (root / name).is_file():
            yield Source(name, (root / name).read_text(), pages)
    for room in ROOMS:
        for folder, folders, names in os.walk(root / room):
            here = pathlib.Path(folder).relative_to(root).as_posix()
            folders[:] = sorted(name for name in folders
                                if name != '__pycache__' and f'{here}/{name}' not in EXCLUDED)
            for name in sorted(names):
                file = pathlib.Path(folder, name)
                if name.endswith(SUFFIXES) and file.stat().st_size <= FILE_BYTES_MAX:
                    yield Source(f'{here}/{name}', file.read_text(), pages)


def name_of(rule):
    return rule.__name__.replace('_', '-')


def breaches(files):
    """Yields (path, line, rule, fix) for each breach in one of the `files`."""
    for source in files:
        for rule in RULES:
            for line, fix in rule(source):
                yield source.path, line, name_of(rule), fix


def tree_breaches(files):
    """The same for the rules over all `files` of a tree together."""
    for rule in (*UNUSED_RULES, unknown_feature_test, unknown_message, unlisted_page):
        for path, line, fix in rule(files):
            yield path, line, name_of(rule), fix


def main():
    if len(sys.argv) != 2:
        print('usage: tidy.py ROOT', file=sys.stderr)
        return 2
    count = 0
    files = list(sources(pathlib.Path(sys.argv[1]).resolve()))
    for path, line, rule, fix in itertools.chain(breaches(files), tree_breaches(files)):
        print(f'{path}:{line}: {rule}: {fix}')
        count += 1
    print(f'tidy: {count} breaches' if count else 'tidy: clean')
    return 1 if count else 0


if __name__ == '__main__':
    sys.exit(main())
