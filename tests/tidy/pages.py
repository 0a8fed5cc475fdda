"""The pages of the tree: which there are, and which numbers and anchors each of them has."""

import pathlib
import posixpath
import re

# Where a page that is cited by its bare name may be, beside the folder of the citing file and those above.
SHELVES = ('docs', 'docs/reference', 'docs/design')

FENCE = re.compile(r'^```.*?^```[ \t]*$', re.MULTILINE | re.DOTALL)
HEADING = re.compile(r'^#{1,6} +(?:(\d+(?:\.\d+)*)\b\.?)?(.*)$')
FIRST_CELL = re.compile(r'^\| *\**([A-Z]?\d+(?:\.\d+)*[a-z]?)\** *\|')
NUMBERED_ITEM = re.compile(r'^(\d+)\. ')
MARKED_ITEM = re.compile(r'^[-*] \*\*(\d+(?:\.\d+)+)\*\*')


def without_fences(text):
    """Markdown with its fenced code blanked; every line keeps its place."""
    return FENCE.sub(lambda match: re.sub(r'[^\n]', ' ', match.group()), text)


def anchor_of(title):
    """The anchor that a heading gets where pages are shown."""
    title = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', title.strip()).lower()
    return re.sub(r'[^\w\- ]', '', title).replace(' ', '-')


class Page:
    """What of a page can be cited.

    numbers: `5`, `5.7`: a heading `## 5. …` or `### 5.7 …`, a first cell `| 5.3.1 |` with a dot, item `7.` of a list
    below heading 5, or an item `- **5.7**`. rows: (section, row) of each table whose first cell is a number, `47` or `L8`.
    headings: the anchor of each heading, in their order.
    """

    def __init__(self, text):
        self.numbers, self.anchors, self.rows, self.headings = set(), set(), set(), []
        section = ''
        for line in without_fences(text).split('\n'):
            if heading := HEADING.match(line):
                section = heading[1] or section
                self.numbers.add(section)
                self.add_anchor(anchor_of(line.lstrip('#')))
            elif cell := FIRST_CELL.match(line):
                (self.numbers.add(cell[1]) if '.' in cell[1] else self.rows.add((section, cell[1])))
            elif item := NUMBERED_ITEM.match(line):
                self.numbers.add(f'{section}.{item[1]}')
            elif item := MARKED_ITEM.match(line):
                self.numbers.add(item[1])

    def add_anchor(self, anchor):
        count = sum(1 for known in self.anchors if re.fullmatch(rf'{re.escape(anchor)}(-\d+)?', known))
        self.headings.append(f'{anchor}-{count}' if anchor in self.anchors else anchor)
        self.anchors.add(self.headings[-1])

    def has_row(self, section, row):
        """Whether a table of `section`, or of a section of it, has this row; empty: any table."""
        return any(known == row and (not section or place == section or place.startswith(section + '.'))
                   for place, known in self.rows)


class Pages:
    """The tree below `root`, read when asked for."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.read = {}

    def exists(self, path):
        return not path.startswith('..') and (self.root / path).exists()

    def page(self, path):
        if path not in self.read:
            self.read[path] = Page((self.root / path).read_text())
        return self.read[path]

    def find(self, name, folder):
        """The path of the page that a file in `folder` calls `name`, or None."""
        above = [folder]
        while above[-1]:
            above.append(posixpath.dirname(above[-1]))
        for place in above + list(SHELVES):
            path = posixpath.normpath(posixpath.join(place, name))
            if self.exists(path):
                return path
        return None
