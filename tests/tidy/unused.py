"""Rules over the whole tree: what the programs consist of is used by the programs, not by tests alone.

Names are compared as words, without a compiler: a name that something else in the programs happens
to share counts as used. So the rules miss some dead code and refuse none that is alive.
"""

import re
from collections import Counter

# Not part of a program. The load generator is: `sluice load` runs it.
APART = ('tests', 'docs', 'deploy', 'bench')
PART_OF_A_PROGRAM = 'load/'

WORD = re.compile(r'[A-Za-z_]\w*')
# A type and a name with its parameters, where a declaration may begin.
FUNCTION = re.compile(r'(?:^|[;{}]|\b(?:public|private|protected):)'
                      r'((?:\s*\[\[\w+\]\])*[^;{}()=#]*?[\w>\]][\s*&]+(?:\w+::)*)([a-z_]\w*)\s*(?=\()',
                      re.MULTILINE)
# What makes of that a call, or a name that another declares.
NO_DECLARATION = re.compile(r'\b(?:return|co_return|co_await|co_yield|throw|new|delete|else|case|goto|operator'
                            r'|friend|using|typedef)\b')
# The declaration of a function that a base or a library calls.
OVERRIDES = re.compile(r'\([^;{}]*?\)[^;{}()]*\boverride\b')
NAMED = (re.compile(r'\b(?:class|struct|enum|concept|using)\s+(?:class\s+)?([A-Z]\w*)\b(?!\s*;)'),
         re.compile(r'\bconstexpr\b[^;={}()]*?\b(k[A-Z]\w*)\s*(?=[=\[{])'))
CLASS = re.compile(r'^(?:class|struct)\s+([A-Z]\w*)\b(?!\s*;)(?:.|\n)*?^\};', re.MULTILINE)
ANNOUNCED = re.compile(r'\b(?:class|struct)\s+([A-Z]\w*);')


def is_product(path):
    return path.split('/')[0] not in APART or path.startswith(PART_OF_A_PROGRAM)


def product(sources):
    return [source for source in sources if source.is_cpp and is_product(source.path)]


def words(sources):
    count = Counter()
    for source in sources:
        count.update(WORD.findall(source.code))
    return count


def unused_header(sources):
    """A header that no file of a program but its own .cpp includes."""
    ours = product(sources)
    included = {target for source in ours for _, target, quoted in source.includes()
                if quoted and target.rsplit('.', 1)[0] != source.path.rsplit('.', 1)[0]}
    for source in ours:
        if source.is_header and source.path not in included:
            yield (source.path, 1,
                   'no file of a program but its own .cpp includes it; remove it with its tests')


def declarations(source):
    """Yields (offset, name) of what `source` declares for others to name."""
    for match in FUNCTION.finditer(source.code):
        called_by_others = OVERRIDES.match(source.code, match.end())
        if not NO_DECLARATION.search(match.group(1)) and not called_by_others:
            yield match.start(2), match.group(2)
    for pattern in NAMED:
        for match in pattern.finditer(source.code):
            yield match.start(1), match.group(1)


def unused_name(sources):
    """A function, type or constant of a header that no program names but to declare and define it."""
    ours = product(sources)
    uses = words(ours)
    places = []
    for source in ours:
        for offset, name in declarations(source):
            uses[name] -= 1
            if source.is_header:
                places.append((source, offset, name))
    for source, offset, name in places:
        if uses[name] <= 0:
            yield (source.path, source.line_of(offset),
                   f"no program uses '{name}'; remove it with its tests")


def own_mentions(name, body, definitions):
    """How often a class is named in its own body and in the definitions of its members."""
    count = len(re.findall(rf'\b{name}\b', body))
    member = rf'^(?=[^\s#/])[^;={{}}]*?\b{name}::(?:.|\n)*?(?:^\}}|\}}$|;$)'
    for match in re.finditer(member, definitions, re.MULTILINE):
        count += len(re.findall(rf'\b{name}\b', match.group()))
    return count


def unused_class(sources):
    """A class that no program names but within it."""
    ours = product(sources)
    uses = words(ours)
    code = {source.path: source.code for source in ours}
    for source in ours:
        for match in ANNOUNCED.finditer(source.code):
            uses[match.group(1)] -= 1
    for source in ours:
        if not source.is_header:
            continue
        for match in CLASS.finditer(source.code):
            own = own_mentions(match.group(1), match.group(), code.get(source.path[:-2] + '.cpp', ''))
            if 1 < uses[match.group(1)] <= own:
                yield (source.path, source.line_of(match.start(1)),
                       f"no program uses '{match.group(1)}'; remove it with its tests")


TREE_RULES = (unused_header, unused_name, unused_class)
