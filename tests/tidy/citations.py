"""Citations of pages, in code and in pages, and paths in pages: each leads to something that exists.

CONTRIBUTING.md lists the forms of citations.
"""

import bisect
import posixpath
import re

from pages import without_fences


def listed(one):
    """Pattern of `3, 5.7 and 15.24` or `6 to 9`: numbers, none of which continues as a word, a time or a share."""
    one = rf'{one}(?![\w%]|\.\d| %)'
    return rf'{one}(?:(?:, and |, | and | to | or ){one})*'


NUMBER = r'\d+(?:\.\d+)*'
ROW = r'[A-Z]?\d+[a-z]?'
NAME = r'(?<![\w/.-])(?P<name>(?:\.{1,2}/)*(?:[\w-]+/)*[\w-]+\.md)\b'
NUMBERS = rf'(?P<numbers>{listed(NUMBER)})'
ROWS = rf'(?P<rows>{listed(ROW)})'
CITATIONS = tuple(re.compile(pattern) for pattern in (
    rf'{NAME}`?(?:\]\([^)\s]*\))?(?:,? (?:sections? |§)?{NUMBERS}(?:(?P<any>;|, its|,) rows? {ROWS})?)?',
    rf'(?:[Ss]ections? |§){NUMBERS} of `?{NAME}',
    rf'[Rr]ows? {ROWS} of `?{NAME}`? (?P<numbers>{NUMBER})',
    rf'\b(?:[Dd]ecisions?|DECISIONS) {NUMBERS}(?! of )'))
LINK = re.compile(r'\]\((?![a-z]+:)(?P<path>[^)\s#]*)(?:#(?P<anchor>[^)\s]*))?\)')
LINKED_DECISIONS = re.compile(r'\]\(([^)\s#]*DECISIONS\.md)')
DECISIONS = 'DECISIONS' + '.md'
# Names of many pages: without a number they may mean the kind of page.
KINDS = ('README' + '.md', 'METRICS' + '.md', DECISIONS)
# Below build/ stands what a machine has built.
PATH = re.compile(r'`(?!build/)((\w[\w.-]+)/[\w./-]*)`')
COMMENT_MARK = re.compile(r'^\s*(?://[/!]?<?|#+)?\s*')
BEGINS_BLOCK = re.compile(r'\s*(?:$|[|#>*-]|\d+\. )')


class Flow:
    """A text whose paragraphs and comments are lines, so that a citation may cross the end of a line."""

    def __init__(self, source):
        text = without_fences(source.text) if source.is_markdown else source.text
        self.starts, parts, length = [], [], 0
        for line in text.split('\n'):
            bare = line if source.is_markdown else COMMENT_MARK.sub('', line)
            apart = BEGINS_BLOCK.match(line) if source.is_markdown else not bare
            part = ('\n' if apart else ' ') + bare
            self.starts.append(length)
            length += len(part)
            parts.append(part)
        self.text = ''.join(parts)

    def line_of(self, offset):
        return bisect.bisect_right(self.starts, offset)


def missing(page, name, cited):
    """Yields what of `cited`, the groups of a match, the page called `name` does not have."""
    numbers = re.findall(NUMBER, cited['numbers'] or '')
    for number in numbers:
        if number not in page.numbers:
            yield f"'{name}' has no {number}"
    section = numbers[-1] if numbers and cited.get('any') not in (';', ', its') else ''
    for row in re.findall(ROW, cited.get('rows') or ''):
        if not page.has_row(section, row):
            yield f"'{name}' has no row {row}" + (f' in {section}' if section else '')


def decisions(source):
    """The page that a bare `decision N` means: of this folder or the nearest above, else the one this page links to."""
    folder = '/'.join(source.folders)
    linked = LINKED_DECISIONS.search(source.text) if source.is_markdown else None
    above = source.pages.find(DECISIONS, folder)
    return above or (linked and source.pages.find(linked[1], folder))


def citation(source):
    """Each citation leads to a page of the tree, and to a number, a row or an anchor of that page."""
    if source.pages is None:
        return
    flow = Flow(source)
    for pattern in CITATIONS:
        for match in pattern.finditer(flow.text):
            line, cited = flow.line_of(match.start()), match.groupdict()
            name = cited.get('name', DECISIONS)
            path = source.pages.find(name, '/'.join(source.folders)) if 'name' in cited else decisions(source)
            if path:
                for what in missing(source.pages.page(path), name, cited):
                    yield line, what
            elif cited['numbers'] or name not in KINDS:
                yield line, f"there is no page '{name}' here, above or in docs"
    if source.is_markdown:
        yield from links(source)


def links(source):
    """The links of a page that lead nowhere."""
    for line, text in enumerate(without_fences(source.text).split('\n'), 1):
        for match in LINK.finditer(text):
            path = posixpath.normpath(posixpath.join(*source.folders, match['path'])) if match['path'] else source.path
            if not source.pages.exists(path):
                yield line, f"nothing stands at '{match['path']}'"
            elif match['anchor'] and path.endswith('.md') and match['anchor'] not in source.pages.page(path).anchors:
                yield line, f"'{match['path'] or source.name}' has no heading '#{match['anchor']}'"


def missing_path(source):
    """A path that begins with a folder of the tree, or in a README ends in a slash, exists, as it is or as a header."""
    if source.pages is None or not source.is_markdown or source.name == 'CHANGELOG.md':
        return
    find, folder = source.pages.find, '/'.join(source.folders)
    for line, text in enumerate(without_fences(source.text).split('\n'), 1):
        for path, first in PATH.findall(text):
            ours = source.pages.exists(first) or source.name == KINDS[0] and path.endswith('/')
            if ours and not find(path, folder) and not find(path + '.h', folder):
                yield line, f"nothing stands at '{path}', here or above"
