"""The table of docs/features.md: every test that it names exists."""

import re

PAGE = 'docs/features.md'
NAMED = re.compile(r'`((?:[a-z][\w]*\.)+[A-Z]\w*|[A-Z]\w+(?:\.[A-Z]\w+)?)`')
CLUSTER = ('tier1', 'tier2', 'tier3', 'knative')


def file_of(parts):
    """Where `theme.Class` or `tier1.module.Class` stands; `parts` are those before the class."""
    *folders, module = parts
    root = 'tests/kubernetes' if folders and folders[0] in CLUSTER else 'tests/integration'
    return '/'.join([root, *folders, f'test_{module}.py'])


def unknown_feature_test(sources):
    """A test that the table of features names and that does not exist."""
    texts = {source.path: source.text for source in sources}
    cases = {match for path, text in texts.items() if path.startswith(('tests/unit/', 'tests/simulation/'))
             for match in re.findall(r'\bTEST(?:_[FP])?\(\s*(\w+),\s*(\w+)', text)}
    suites = {suite for suite, _ in cases}
    for source in sources:
        if source.path != PAGE:
            continue
        for number, line in enumerate(source.text.splitlines(), 1):
            for name in NAMED.findall(line) if line.startswith('|') else ():
                *before, last = name.split('.')
                if before and before[-1][0].islower():
                    found = re.search(rf'^class {last}\b', texts.get(file_of(before), ''), re.MULTILINE)
                else:
                    found = (before[0], last) in cases if before else last in suites
                if not found:
                    yield source.path, number, f"there is no test '{name}'; name one that shows the feature"
