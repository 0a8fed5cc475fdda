"""What can be set on one machine, as the code has it: names read out of the sources, the rest out of the program."""

import json
import re
import subprocess

ANNOTATIONS = 'common/scaling/annotations.cpp'
PLACEMENT = 'common/scaling/placement_annotations.cpp'
ANNOTATION_ROOMS = ('common/scaling', 'platform/process')
VARIABLE_ROOMS = ('platform/process', 'programs/sluice', 'common/kube/access.cpp')
SIDECAR = 'platform/process/sidecar.cpp'
PARSERS = tuple(f'platform/process/{room}_parser.cpp'
                for room in ('service', 'container', 'probe', 'volume', 'config'))
# The built-in program is started like any other: what it reads is what every program gets.
NOT_THE_ENGINE = 'programs/sluice/engine/demo_app.cpp'

LITERAL = re.compile(r'"([^"\n]*)"')
ANNOTATION = re.compile(r'"((?:autoscaling\.knative|serving\.knative|autoscaling\.sluice|sluice)\.dev/[a-z][a-z-]*)"')
PLACEMENT_KEY = re.compile(r'\{"([a-z-]+)", &Reading::')
READ_VARIABLE = re.compile(r'(?:getenv|process_env|absolute_env|value_of|\benv)\((?:\w+, )?"([A-Z][A-Z0-9_]+)"'
                           r'|\bEngineVariable \w+\{\s*"([A-Z][A-Z0-9_]+)"'
                           r'|const name : \{"([A-Z_]+)", "([A-Z_]+)"\}')
GIVEN_VARIABLE = re.compile(r'result\.push_back\((?:fmt::format\()?"([A-Z_]+)=')
ENTRIES = re.compile(r'\bentries\(\s*[^,;]+,\s*[^,;]+,\s*([^,;]+?),\s*')
HELP_COLUMN = 30  # where CLI11 begins the meaning of a flag


class Missing(Exception):
    """A table of the code that is not where it was."""


def some(names, file):
    if not names:
        raise Missing(f'{file} has no table that is recognised: correct docs/site/settings_in_code.py')
    return names


def braced(text, begin):
    """The text between the brace at `begin` and its end."""
    depth = 0
    for at in range(begin, len(text)):
        depth += {'{': 1, '}': -1}.get(text[at], 0)
        if depth == 0:
            return text[begin + 1:at]
    raise Missing('a brace without an end')


def key_groups(text, begin):
    """The three lists of a YamlKeys that begins at the brace `begin`: read, without effect, passed over."""
    inner = braced(text, begin)
    groups, at = [], 0
    while (at := inner.find('{', at)) >= 0:
        group = braced(inner, at)
        groups.append(LITERAL.findall(group))
        at += len(group) + 2
    return (groups + [[], [], []])[:3]


def mappings(text):
    """Yields (what its messages call it, groups of keys) for each YAML mapping that a parser reads."""
    for call in ENTRIES.finditer(text):
        where = call[1].strip('"')
        if text[call.end()] == '{':
            yield where, key_groups(text, call.end())
            continue
        name = re.match(r'\w+', text[call.end():])
        if not name:
            continue
        declared = text.rfind(f'YamlKeys {name[0]}{{', 0, call.start())
        if declared >= 0:
            yield where, key_groups(text, text.index('{', declared))


def annotations(sources):
    """(key, other spelling or '') of each annotation that means something."""
    text = sources[ANNOTATIONS]
    arrays = {name: LITERAL.findall(braced(text, text.index('{', match.end() - 1)))
              for name in ('kAliased', 'kPlain') if (match := re.search(rf'\b{name}\{{', text))}
    if len(arrays) != 2:
        raise Missing(f'{ANNOTATIONS} has no kAliased and kPlain: correct docs/site/settings_in_code.py')
    prefix = 'autoscaling.knative.dev/'
    found = {prefix + name: '' for name in arrays['kPlain']}
    found |= {prefix + name: re.sub(r'-(\w)', lambda match: match[1].upper(), name) for name in arrays['kAliased']}
    found |= {f'placement.sluice.dev/{name}': '' for name in some(PLACEMENT_KEY.findall(sources[PLACEMENT]), PLACEMENT)}
    for path, code in sources.items():
        if path.startswith(ANNOTATION_ROOMS):
            found |= {key: '' for key in ANNOTATION.findall(code) if key not in found}
    return sorted(found.items())


def variables(sources):
    """The environment variables that `sluice` reads."""
    found = set()
    for path, code in sources.items():
        if path.startswith(VARIABLE_ROOMS) and path != NOT_THE_ENGINE:
            found |= {name for match in READ_VARIABLE.findall(code) for name in match if name}
    return some(sorted(found), ', '.join(VARIABLE_ROOMS))


def given_variables(sources):
    """The environment variables that every replica gets."""
    return some(GIVEN_VARIABLE.findall(sources[SIDECAR]), SIDECAR)


def fields(sources):
    """(where, read, without effect, passed over) of each mapping of a Service document."""
    rows = [(where, *groups) for path in PARSERS for where, groups in mappings(sources[path])]
    return some(rows, ', '.join(PARSERS))


def help_of(program, *words):
    return subprocess.run([program, *words, '--help'], capture_output=True, text=True, check=True, timeout=30).stdout


def verbs(program):
    """The verbs of `sluice --help`, with what each does."""
    listed = help_of(program).partition('\nVerbs:\n')[2].partition('\n\n')[0]
    return some([tuple(line.split(None, 1)) for line in listed.splitlines()], 'sluice --help')


def command_line(program):
    """`sluice help -o json`."""
    text = subprocess.run([program, 'help', '-o', 'json'], capture_output=True, text=True, check=True, timeout=30).stdout
    return json.loads(text)


def exit_statuses(program):
    """(status, meaning) of each exit status."""
    return some([(str(one['status']), one['meaning']) for one in command_line(program)['exit_statuses']], 'sluice help')


def shown_settings(program):
    """`sluice config -o json` without a file and with nothing set: (settings, variables of the environment)."""
    nothing = {'HOME': '/nonexistent', 'PATH': '/usr/bin:/bin'}
    text = subprocess.run([program, 'config', '-o', 'json'], capture_output=True, text=True, check=True, timeout=30,
                          env=nothing).stdout
    shown = json.loads(text)
    return some(shown['settings'], 'sluice config'), some(shown['environment'], 'sluice config')


def flags(program):
    """(verb, flag with its value, meaning) of every flag and argument, as the help of each verb has them; without a verb,
    those that stand before it."""
    rows = [('', ' '.join([', '.join(flag['names']), flag['value']]).strip(), flag['about'])
            for flag in command_line(program)['flags'] if '-h' not in flag['names']]
    for verb, _ in verbs(program):
        rows += [(verb, *plain_flag(*row)) for row in rows_of_help(help_of(program, verb))
                 if not row[0].startswith('-h,')]
    return some(rows, 'sluice VERB --help')


def rows_of_help(text):
    """Yields (name, meaning) of each row below `Positionals:` and `Flags:`."""
    row, inside = None, False
    for line in text.splitlines():
        if not line or not line.startswith(' '):
            inside = line in ('Positionals:', 'Flags:')
        elif inside and line.startswith('   '):
            row[1] = f'{row[1]} {line.strip()}'.strip()
            continue
        elif inside:
            if row:
                yield tuple(row)
            # A long name may have a blank of its bounds there.
            name = line[:HELP_COLUMN]
            apart = name[-1:] in (' ', '') and name.count('[') == name.count(']')
            row = [line[:HELP_COLUMN if apart else None].strip(), line[HELP_COLUMN:].strip() if apart else '']
    if row:
        yield tuple(row)


def plain_flag(name, meaning):
    """The same without what only CLI11 has a use for: `-o TEXT:{text,json}` is `-o text|json`."""
    name = name.replace(' REQUIRED', '')
    if needed := re.search(r' Needs: (\S+)', name):
        name, meaning = name[:needed.start()], f'{meaning}; only with `{needed[1]}`'
    if bounds := re.search(r' INT:INT in \[(\d+) - (\d+)\]', name):
        name, meaning = f'{name[:bounds.start()]} N{name[bounds.end():]}', f'{meaning}; {bounds[1]} to {bounds[2]}'
    if default := re.search(r'(?<= )(?:TEXT|INT|UINT|FLOAT|N)=(\S+)', name):
        name, meaning = name.replace(f'={default[1]}', ''), f'{meaning} (`{default[1]}`)'
    name = re.sub(r' [A-Z]+:\{([^}]*)\}', lambda words: ' ' + words[1].replace(',', '|'), name)
    name = name if name.startswith('-') else name.split()[0]
    return name.replace(',-', ', -'), meaning
