"""The files of the page as they are served: the modules as one file, without what only readers of the sources need."""

import re

ENTRY = 'app.js'  # the module that index.html names
IMPORT = re.compile(r"^import \{([^}]*)\} from '\./([\w.]+)';\n", re.M)
NAME = re.compile(r'^(export )?(?:async )?(?:function|class|const|let) (\w+)', re.M)
# What is not code in a script: a string, a comment, or a regular expression where a value begins.
LITERAL = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/"""
                     r"""|(?:(?<=[(,=:\[!&|?{};])|(?<=return))\s*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\[\n])+/[a-z]*""", re.S)
SIGNS = set('{}()[];:,.<>=!?&|*/%+-')


def joined(sources, entry=ENTRY):
    """The modules that `entry` needs, {name: text}, as one text: each stands once, after those that it imports."""
    order = []

    def visit(name):
        for names, other in IMPORT.findall(sources[name]):
            exported = {word for export, word in NAME.findall(sources[other]) if export}
            if missing := set(re.findall(r'\w+', names)) - exported:
                raise ValueError(f'{name}: {other} exports no {", ".join(sorted(missing))}')
            if other not in order:
                visit(other)
        order.append(name)

    visit(entry)
    owners = {}
    for name in order:
        for _, word in NAME.findall(sources[name]):
            if owners.setdefault(word, name) != name:
                raise ValueError(f'{word} is in {owners[word]} and in {name}: names in one file differ')
    return ''.join(re.sub(r'^export ', '', IMPORT.sub('', sources[name]), flags=re.M) for name in order)


def pieces_of(text):
    """A script cut in code and in what is not: [(is_code, text)]. Code inside of a template is code."""
    pieces, braces, start, at = [], [], 0, 0

    def cut(is_code):
        nonlocal start
        pieces.append((is_code, text[start:at]))
        start = at

    while at < len(text):
        resumes = text[at] == '}' and braces and braces[-1] == 0
        if text[at] == '`' or resumes:
            cut(True)
            if resumes:
                braces.pop()
            at += 1
            while text[at] != '`' and text[at:at + 2] != '${':
                at += 2 if text[at] == '\\' else 1
            if text[at] == '$':
                braces.append(0)
                at += 1
            at += 1
            cut(False)
        elif match := LITERAL.match(text, at):
            cut(True)
            at = match.end()
            cut(False)
        else:
            if braces:
                braces[-1] += {'{': 1, '}': -1}.get(text[at], 0)
            at += 1
    cut(True)
    return pieces


def without_blanks(code):
    """Blanks stay where two words or two equal signs meet; the end of a line stays after a statement that is not the last of
    its block, and is enough of an end before a word. The sources have no empty statement and no `for (;;)` of several lines,
    whose semicolons would be needed."""
    def kept(match):
        before, after = code[match.start() - 1:match.start()], code[match.end():match.end() + 1]
        if before == ';' and '\n' in match[0] and after != '}':
            return '\n'
        needed = before and after and (before == after in '+-' or not {before, after} & SIGNS)
        return ' ' if needed else ''
    return re.sub(r';\n(?=[\w$])', '\n', re.sub(r'\s+', kept, code)).replace(';}', '}')


def packed_script(text):
    merged = []
    for is_code, piece in pieces_of(text):
        if not is_code and piece.startswith(('//', '/*')):
            is_code, piece = True, '\n'
        if is_code and merged and merged[-1][0]:
            piece = merged.pop()[1] + piece
        merged.append((is_code, piece))
    return ''.join(without_blanks(piece) if is_code else piece.strip() if piece.lstrip().startswith('/') else piece for is_code, piece in merged).strip() + '\n'


def packed_style(text):
    text = re.sub(r'\s+', ' ', re.sub(r'/\*.*?\*/', '', text, flags=re.S))
    return re.sub(r' ?([{};,>]) ?', r'\1', text).replace(': ', ':').replace(';}', '}').strip() + '\n'


def served(sources):
    """{name: text} of the page as it is served."""
    page = {name: text for name, text in sources.items() if not name.endswith('.js')}
    page[ENTRY] = joined(sources)
    pack = {'.js': packed_script, '.css': packed_style, '.html': lambda text: re.sub(r'\n\s*', '\n', text), '.svg': str.strip}
    return {name: pack[name[name.rindex('.'):]](text) for name, text in page.items()}
