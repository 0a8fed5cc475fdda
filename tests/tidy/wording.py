"""The rule on wording: a text that a user sees names the object and says in plain words what happens to it."""

import re

# phrase -> what to write in its place
PLAIN = {
    'nobody': 'what is missing: no pod, no client, none',
    'somebody': 'which one: another program, a client, an operator',
    'someone': 'which one: another program, a client, an operator',
    'anybody': 'which one: any client, any pod',
    'whoever': 'which one: the client, the caller, the pod that',
    'whom': 'which one: which pod, which container',
    'anew': 'again',
    'in vain': 'without effect',
    'for ever': 'without a limit',
    'is told': 'gets, receives, is sent',
    'are told': 'get, receive, are sent',
    'was told': 'got, received, was sent',
    'is no more': 'is gone, is deleted',
    'earlier life': 'earlier run',
    'goes on': 'continues',
    'to be had': 'available',
    'stands still': 'stops, is paused',
    'knows the cluster': 'initial sync complete',
}
PHRASE = re.compile(r'\b(' + '|'.join(PLAIN).replace(' ', r'\s+') + r')\b', re.IGNORECASE)
# Comments and characters are passed over; literals side by side are one text.
TOKEN = re.compile(
    r'//[^\n]*|/\*(?:.|\n)*?\*/'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"
    r'|R"(?P<tag>[^()\\\s]{0,16})\((?P<raw>(?:.|\n)*?)\)(?P=tag)"'
    r'|(?P<text>"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*)')
PAGES = ('METRICS.md', 'alerts.yaml', 'requestscaler.yaml')


def plain_wording(source):
    """Over the strings of the programs, and the pages and descriptions that users read beside them."""
    if source.path.startswith(('tests/', 'bench/')):
        return
    texts = cpp_texts(source.text) if source.is_cpp else [(0, source.text)] if source.name in PAGES else []
    for offset, text in texts:
        for match in PHRASE.finditer(text):
            phrase = ' '.join(match.group().lower().split())
            yield source.line_of(offset + match.start()), f"'{phrase}': say {PLAIN[phrase]}"


def cpp_texts(code):
    """Yields (offset, text) of each string in C++; escapes and the joints of literals are blanked."""
    for token in TOKEN.finditer(code):
        if token.group('raw') is not None:
            yield token.start('raw'), token.group('raw')
        elif token.group('text') is not None:
            yield token.start('text'), re.sub(r'\\.|"', lambda match: ' ' * len(match.group()), token.group('text'))
