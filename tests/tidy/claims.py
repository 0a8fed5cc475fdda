"""The rule on names of tests: a claim in plain words, which names the object and what happens to it."""

import re

# Words that name no object, or lend it a mind; whole words of CamelCase or snake_case, in order.
PHRASES = (
    'nobody', 'somebody', 'someone', 'anybody', 'everybody', 'whoever', 'who', 'whom', 'heirs?', 'thief', 'newcomers?',
    'anew', 'in vain', 'for ever', 'goes? on', 'all the same', 'any more', 'no more(?!.* than)', 'to be had',
    'told', 'tells?', 'knows?', 'says?', 'hears?', 'heard', 'believe[sd]?', 'vouch(?:es)?', 'life', 'lives', 'dies', 'died',
    'forgets', 'forgotten', 'lets', 'stands?', 'remembers?', 'speaks of', 'forerunners?', 'want of',
)
PHRASE = re.compile(r'\b(?:' + '|'.join(PHRASES) + r')\b')
CASE = r'\b(?:TYPED_)?TEST(?:_[FP])?\(\s*\w+,\s*(\w+)'
METHOD = r'^\s*def (test_\w+)'


def riddling_test_name(source):
    if not source.path.startswith('tests/') or not (source.is_cpp or source.is_python):
        return
    for line, match in source.find(CASE if source.is_cpp else METHOD):
        name = match.group(1)
        found = PHRASE.search(words(name))
        if found:
            yield line, f"'{found.group()}' in {name}: name the object and what happens to it"


def words(name):
    """The words of a name, in lower case: TakesNoMore and takes_no_more are both `takes no more`."""
    return re.sub(r'(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])', ' ', name).replace('_', ' ').lower()
