"""A file of the page as it is served: without what only its readers need."""

import re


def packed(name, text):
    """Without the blanks at the beginnings of lines and the comments that fill a line; in style sheets without most blanks."""
    lines = [line.strip() for line in text.split('\n')]
    if name.endswith('.js'):
        lines = [line for line in lines if not re.match(r'//|/\*\*|\*', line)]
    text = '\n'.join(line for line in lines if line) + '\n'
    if name.endswith('.css'):
        text = re.sub(r' ?([{};,]) ?', r'\1', re.sub(r'/\*.*?\*/\s*', '', text)).replace(': ', ':')
    return text
