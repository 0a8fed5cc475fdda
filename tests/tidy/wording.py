"""The rule on wording: a text names the object and says in plain words what happens to it."""

import re

# phrase -> what to write in its place
PLAIN = {
    'nobody': 'what is missing: no pod, no client, none',
    'somebody': 'which one: another program, a client, an operator',
    'someone': 'which one: another program, a client, an operator',
    'anybody': 'which one: any client, any pod',
    'everybody': 'which ones: all pods, every client',
    'whoever': 'which one: the client, the caller, the pod that',
    'whom': 'which one: which pod, which container',
    'anew': 'again',
    'in vain': 'without effect',
    'for ever': 'without a limit',
    'is told': 'gets, receives, is sent',
    'are told': 'get, receive, are sent',
    'was told': 'got, received, was sent',
    'were told': 'got, received, were sent',
    'be told': 'get, be sent; apart: be distinguished',
    'been told': 'got, received, been sent',
    'is no more(?! than)': 'is gone, is deleted',
    'earlier life': 'earlier run',
    'life before': 'earlier run',
    'goes on': 'continues',
    'to be had': 'available',
    'stands still': 'stops, is paused',
    'stood still': 'stopped, was paused',
    'knows the cluster': 'initial sync complete',
    'knows nothing': 'has no data of, is independent of',
    'hears': 'gets, receives',
    'speaks of': 'is about, reports',
    'gives? way': 'is dropped, is closed, is replaced',
    'in the place of': 'instead of, replaces',
    'bec(?:omes?|ame) of': 'happens to',
    'dear': 'expensive',
    'stands? twice': 'is set twice, is listed twice',
    'be had': 'be bound, be available',
    'went on to': 'was passed to',
    'who else': 'which others',
    'says? nonsense': 'is invalid',
    'no one': 'what is missing: no pod, no client, none',
    'heard of': 'received from, reported by',
    'forerunner': 'predecessor',
    'dead replicas': 'replicas that ended',
    '(?:ended in|came to) nothing': 'failed',
    'w(?:as|ere) (?:not )?believed': 'was implausible, was verified',
    'in the way': 'what is wrong',
    'last told': 'last reported',
    'rules of the house': 'rules of the source tree',
}
PHRASE = re.compile(r'\b(?:' + '|'.join(f'({phrase})' for phrase in PLAIN).replace(' ', r'(?:\s|//[/<]*)+') + r')\b',
                    re.IGNORECASE)
# Characters are passed over; literals side by side are one text, and so are lines of comment one below the other.
TOKEN = re.compile(
    r'(?P<comment>//[^\n]*(?:\n[ \t]*//[^\n]*)*|/\*(?:.|\n)*?\*/)'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"
    r'|R"(?P<tag>[^()\\\s]{0,16})\((?P<raw>(?:.|\n)*?)\)(?P=tag)"'
    r'|(?P<text>"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*)')
CODE = re.compile(r'```.*?```|`[^`]*`', re.DOTALL)
PAGES = ('alerts.yaml', 'requestscaler.yaml')


def plain_wording(source):
    """Over pages, descriptions in objects, and the strings and comments of the programs; not over code and names."""
    for offset, text in texts(source):
        for match in PHRASE.finditer(text):
            phrase = ' '.join(re.sub('//[/<]*', ' ', match.group()).lower().split())
            yield source.line_of(offset + match.start()), f"'{phrase}': say {list(PLAIN.values())[match.lastindex - 1]}"


def texts(source):
    """Yields (offset, text) of what people read in it."""
    if source.is_markdown or source.name in PAGES:
        yield 0, blanked(source.text, CODE)
    elif source.path.startswith(('tests/', 'bench/')):
        return
    elif source.is_cpp or source.path.endswith('.proto'):
        yield from cpp_texts(source.text)


def cpp_texts(code):
    """Yields (offset, text) of each string and comment in C++; escapes, joints of literals, quoted code are blanked."""
    for token in TOKEN.finditer(code):
        if token.group('comment') is not None:
            yield token.start(), blanked(token.group('comment'), CODE)
        elif token.group('raw') is not None:
            yield token.start('raw'), token.group('raw')
        elif token.group('text') is not None:
            yield token.start('text'), blanked(token.group('text'), re.compile(r'\\.|"'))


def blanked(text, pattern):
    """The text with each match of the pattern replaced by spaces; lines keep their places."""
    return pattern.sub(lambda match: re.sub(r'[^\n]', ' ', match.group()), text)
