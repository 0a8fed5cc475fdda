"""A source file as the rules see it: its lines, and the same text without comments and literals."""

import re


def mask(text):
    """C++ text with comments, strings and characters blanked; every line keeps its place."""
    pattern = re.compile(
        r'R"(?P<tag>[^()\\\s]{0,16})\((?:.|\n)*?\)(?P=tag)"'
        r'|//[^\n]*'
        r'|/\*(?:.|\n)*?\*/'
        r'|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"
    )
    includes = re.compile(r'^\s*#\s*include')

    def blank(match):
        begin = text.rfind('\n', 0, match.start()) + 1
        if includes.match(text[begin:match.start()]):
            return match.group()
        return re.sub(r'[^\n]', ' ', match.group())

    return pattern.sub(blank, text)


class Source:
    """One file: `path` relative to the root with forward slashes, `text`, and `code` (masked C++).

    `pages` is the tree it stands in, for rules that look at more than one file.
    """

    def __init__(self, path, text, pages=None):
        self.path = path
        self.pages = pages
        self.text = text
        self.lines = text.split('\n')
        self.is_cpp = path.endswith(('.cpp', '.h'))
        self.is_header = path.endswith('.h')
        self.is_python = path.endswith('.py')
        self.is_markdown = path.endswith('.md')
        self.code = mask(text) if self.is_cpp else text
        self.name = path.rsplit('/', 1)[-1]
        self.stem = self.name.rsplit('.', 1)[0]
        self.folders = path.split('/')[:-1]

    def line_of(self, offset):
        return self.text.count('\n', 0, offset) + 1

    def find(self, pattern, raw=False):
        """Yields (line number, match) for each match in the code, or in the raw text."""
        text = self.text if raw else self.code
        for match in re.finditer(pattern, text, re.MULTILINE):
            yield self.line_of(match.start()), match

    def includes(self):
        """Yields (line number, target, quoted) for each include."""
        for line, match in self.find(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]'):
            yield line, match.group(2), match.group(1) == '"'


TYPE_HEAD = re.compile(r'\b(namespace|class|struct|enum|union|extern)\b')


def cpp_functions(code):
    """Yields (first line, number of lines) of each function, found by its braces."""
    stack = []  # (kind, line) with kind one of scope, function, block
    head_begin = 0
    line = 1
    for offset, char in enumerate(code):
        if char == '\n':
            line += 1
        elif char == ';':
            head_begin = offset + 1
        elif char == '{':
            head = code[head_begin:offset]
            stack.append((kind_of(head, stack), line))
            head_begin = offset + 1
        elif char == '}':
            if stack:
                kind, began = stack.pop()
                if kind == 'function':
                    yield began, line - began + 1
            head_begin = offset + 1


def kind_of(head, stack):
    """What a brace opens, from the text before it and what is open around it."""
    if stack and stack[-1][0] != 'scope':
        return 'block'
    head = head.strip()
    if TYPE_HEAD.search(head) and not head.endswith(')'):
        return 'scope'
    if head.endswith('='):
        return 'block'
    # An empty head follows the brace of a member initialiser: the body of a constructor.
    return 'function' if '(' in head or not head else 'block'
