"""Manual pages from the tables that the program prints of itself: `sluice help -o json`, `sluice config -o json`, and from
docs/site/meanings.py."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'docs/site'))

from meanings import VARIABLES  # noqa: E402  its folder is known only now

SECTION_OF = {'sluice-config.yaml': 5}
FILES = (('/etc/sluice/config.yaml', 'settings of all engines of the machine; see sluice-config.yaml(5)'),
         ('~/.config/sluice/config.yaml', 'settings of the engines of one user, in their place'),
         ('~/.local/state/sluice/ENGINE/', 'history, logs and applied services of an engine'),
         ('$XDG_RUNTIME_DIR/sluice/ENGINE/', 'its sockets and its lock'))


def escaped(text):
    """Text that roff prints as it is, also at the begin of a line."""
    text = text.replace('\\', '\\e').replace('-', '\\-')
    return '\n'.join('\\&' + line if line[:1] in ".'" else line for line in text.split('\n'))


def bold(text):
    return f'\\fB{escaped(text)}\\fR'


def italic(text):
    return f'\\fI{escaped(text)}\\fR'


def item(head, text):
    return f'.TP\n{head}\n{escaped(text)}\n'


def example(lines):
    """Lines as they are typed."""
    text = '\n'.join(line.removeprefix('  ') for line in lines.rstrip('\n').split('\n'))
    return f'.PP\n.nf\n.RS\n{escaped(text)}\n.RE\n.fi\n'


class Page:
    def __init__(self, name, summary, version, date):
        section = SECTION_OF.get(name, 1)
        self.file = f'{name}.{section}'
        self.text = (f'.TH {name.upper()} {section} "{date}" "sluice {version}" "Sluice"\n'
                     f'.SH NAME\n{escaped(name)} \\- {escaped(summary)}\n')

    def head(self, title):
        self.text += f'.SH {title}\n'

    def add(self, text):
        self.text += text


def flag_head(flag):
    names = ', '.join(bold(name) for name in flag['names'])
    value = '|'.join(flag['words']) or flag['value']
    return names + (' ' + italic(value) if value else '')


def synopsis(verb):
    words = [bold(f'sluice {verb["name"]}')]
    words += ['[' + italic('FLAGS') + ']'] if verb['flags'] else []
    for argument in verb['arguments']:
        name = italic(argument['name'])
        words.append(name if argument['required'] else f'[{name}]')
    if verb['name'] == 'up':
        words.append('[' + bold('--') + ' ' + italic('COMMAND ARG...') + ']')
    return ' '.join(words) + '\n'


def verb_page(verb, tables, date):
    page = Page(f'sluice-{verb["name"]}', verb['summary'], tables['version'], date)
    page.head('SYNOPSIS')
    page.add(synopsis(verb))
    page.head('DESCRIPTION')
    page.add(escaped(verb['about']) + '\n')
    if verb['arguments']:
        page.head('ARGUMENTS')
        for argument in verb['arguments']:
            page.add(item(italic('|'.join(argument['words']) or argument['name']), argument['about']))
    if verb['flags']:
        page.head('FLAGS')
        for flag in verb['flags']:
            page.add(item(flag_head(flag), flag['about'] + ('; repeatable' if flag['repeated'] and
                                                            'repeatable' not in flag['about'] else '')))
    page.head('EXAMPLES')
    page.add(example(verb['examples']))
    page.head('SEE ALSO')
    page.add('.BR sluice "(1), " sluice\\-config.yaml (5)\n')
    return page


def main_page(tables, settings, date):
    page = Page('sluice', 'scales any HTTP service by the requests it is serving', tables['version'], date)
    page.head('SYNOPSIS')
    page.add(f'{bold("sluice")} [{italic("FLAGS")}] {italic("VERB")} [{italic("FLAGS")}] [{italic("ARGUMENTS")}]\n')
    page.head('DESCRIPTION')
    page.add('Runs programs that listen on $PORT behind one front door: asleep without requests, awake on the first\n'
             'one, more replicas under load, and back to zero. Each verb has a page of its own.\n')
    page.head('VERBS')
    for verb in tables['verbs']:
        page.add(item(f'.BR sluice\\-{escaped(verb["name"])} (1)', verb['summary']))
    page.head('FLAGS')
    for flag in tables['flags']:
        page.add(item(flag_head(flag), flag['about']))
    page.head('EXIT STATUS')
    for code in tables['exit_statuses']:
        page.add(item(bold(str(code['status'])), code['meaning']))
    page.head('ENVIRONMENT')
    texts = {name: text.replace('`', '') for name, text in VARIABLES.items()}
    texts |= {one['key']: f'{one["meaning"]}; default: {one["default"]}' for one in settings['environment']}
    for name, text in sorted(texts.items()):
        page.add(item(bold(name), text))
    page.head('FILES')
    for name, text in FILES:
        page.add(item(italic(name), text))
    page.head('EXAMPLES')
    page.add(example("  sluice up -- python3 -m http.server '$PORT'\n  sluice explain app\n  sluice down\n"))
    return page


def config_page(settings, version, date):
    page = Page('sluice-config.yaml', 'settings of an engine', version, date)
    page.head('DESCRIPTION')
    page.add('A YAML file of at most 1 MiB: the one that --config names, else\n'
             '$XDG_CONFIG_HOME/sluice/config.yaml, else /etc/sluice/config.yaml. A key with a dot is a key of a\n'
             'section: queue.depth is depth below queue. Unknown keys are errors.\n'
             '.PP\n.BR "sluice config" " prints every key with its value and where it comes from,"\n'
             '.BR "sluice config \\-\\-check FILE" " checks a file."\n')
    page.head('KEYS')
    for key in settings['settings']:
        page.add(item(bold(key['key']), f'{key["meaning"]}; {key["type"]}; default: {key["default"] or "none"}'))
    page.head('SEE ALSO')
    page.add('.BR sluice "(1), " sluice\\-config (1)\n')
    return page


def pages(tables, settings, date):
    """All pages: their file names and their text."""
    made = [main_page(tables, settings, date), config_page(settings, tables['version'], date)]
    made += [verb_page(verb, tables, date) for verb in tables['verbs']]
    return {page.file: page.text for page in made}


def default_config(settings):
    """config.yaml with every key at its default, in comments."""
    lines = ['# Settings of every engine of this machine; each key is at its default. See: man sluice-config.yaml',
             '# What holds, and where it comes from: sluice config. Is a changed file good? sluice config --check FILE']
    section = ''
    for key in settings['settings']:
        above, _, name = key['key'].rpartition('.')
        if above != section:
            lines += ['', f'#{above}:'] if above else ['']
            section = above
        indent = '  ' if above else ''
        lines += [f'# {indent}{key["meaning"]}; {key["type"]}', f'#{indent}{name}: {default_text(key)}']
    return '\n'.join(lines) + '\n'


def default_text(key):
    if key['type'].startswith('list'):
        return '[]'
    # The values below `autoscaler` are texts, as in a ConfigMap.
    return f'"{key["default"]}"' if key['key'].startswith('autoscaler.') else key['default']
