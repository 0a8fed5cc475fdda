"""The manual follows the code: messages that it quotes exist, and every page of docs can be found from an index."""

import posixpath
import re

from citations import LINK
from pages import without_fences

PAGE = 'docs/manual/troubleshooting.md'
INDEXES = ('docs/README.md', 'docs/manual/index.md')
CODE = re.compile(r'`([^`]+)`')
LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')
SIDE_BY_SIDE = re.compile(rf'{LITERAL.pattern}(?:\s*{LITERAL.pattern})*')
PIECE_LENGTH_MIN = 4  # shorter ones are in every program
# The programs of one machine, and what they are made of.
PROGRAMS = ('common/', 'platform/process/', 'programs/sluice/', 'activator/', 'autoscaler/', 'queue-proxy/')


def literals(code):
    """The string literals of C++, those side by side as one, each on a line."""
    return '\n'.join(''.join(LITERAL.findall(match[0])).replace('\\"', '"') for match in SIDE_BY_SIDE.finditer(code))


def quoted(line):
    """The pieces of each message in the first cell of a table's row; `…` stands for what varies."""
    if line.startswith('|'):
        for message in CODE.findall(line.split('|')[1]):
            yield from (piece.strip() for piece in message.split('…') if len(piece.strip()) >= PIECE_LENGTH_MIN)


def unknown_message(sources):
    """A message that the troubleshooting page quotes and that no program has."""
    page = next((source for source in sources if source.path == PAGE), None)
    if page is None:
        return
    texts = '\n'.join(literals(source.text) for source in sources if source.is_cpp and source.path.startswith(PROGRAMS))
    for number, line in enumerate(page.lines, 1):
        for piece in quoted(line):
            if piece not in texts:
                yield page.path, number, f"no program has the message '{piece}'; quote the one that it prints"


def unlisted_page(sources):
    """A page of docs that no index links to."""
    pages = {source.path: source for source in sources if source.is_markdown and source.path.startswith('docs/')}
    if INDEXES[0] not in pages:
        return
    listed = {INDEXES[0]}
    for index in set(INDEXES) & set(pages):
        listed |= {posixpath.normpath(posixpath.join(posixpath.dirname(index), match['path']))
                   for match in LINK.finditer(without_fences(pages[index].text)) if match['path']}
    for path in sorted(set(pages) - listed):
        yield path, 1, f'neither {" nor ".join(INDEXES)} links to it'
