"""Writes the tables of the manual that follow the code: reference.py BIN [--check].

BIN is a folder of built programs. The tables stand between `<!-- table: NAME -->` and `<!-- end of table -->`.
With --check nothing is written: the differences are printed, and the exit status is 1 if there are any.
"""

import difflib
import pathlib
import re
import sys

import meanings
import settings_in_code as code

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ('docs/manual/configuration.md', 'docs/manual/services.md', 'docs/manual/run.md')
SOURCE_ROOMS = ('common/scaling', 'common/kube', 'platform/process', 'programs/sluice')
TABLE = re.compile(r'(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)', re.DOTALL)


def sources(root):
    """Path -> text of the C++ that the tables are read from."""
    return {path.relative_to(root).as_posix(): path.read_text() for room in SOURCE_ROOMS
            for path in sorted((root / room).rglob('*')) if path.suffix in ('.cpp', '.h')}


def cell(text):
    return text.replace('|', '\\|')


def table(head, rows):
    lines = [head, ['---'] * len(head), *[[cell(text) for text in row] for row in rows]]
    return ''.join('| ' + ' | '.join(line) + ' |\n' for line in lines)


def explained(names, texts, place):
    """[(name, text)], with a complaint about each name that only one of both has."""
    silent = sorted(set(names) - set(texts))
    gone = sorted(set(texts) - set(names))
    if silent or gone:
        raise code.Missing('; '.join([f'{name} has no meaning: add it to {place} of docs/site/meanings.py'
                                      for name in silent] +
                                     [f'{name} is not in the code: remove it from {place} of docs/site/meanings.py'
                                      for name in gone]))
    return [(name, texts[name]) for name in names]


def settings_table(settings, head, prefix):
    """The settings whose names begin with `prefix`, which is left out."""
    return table([head, 'accepted', 'default', 'meaning'],
                 [[f'`{one["key"][len(prefix):]}`', one['type'], f'`{one["default"]}`' if one['default'] else 'none',
                   one['meaning']] for one in settings if one['key'].startswith(prefix)])


def read_variables_table(names, listed):
    """What `sluice` reads: with the texts of the program, where it has them."""
    texts = {one['key']: f'{one["meaning"]}; otherwise {one["default"]}' for one in listed}
    return variables_table(names, meanings.VARIABLES | texts, 'VARIABLES')


def annotations_table(found):
    rows = []
    for key, (default, meaning) in explained([key for key, _ in found], meanings.ANNOTATIONS, 'ANNOTATIONS'):
        other = dict(found)[key]
        rows.append([f'`{key}`' + (f', `…/{other}`' if other else ''), default, meaning])
    return table(['annotation', 'default', 'meaning'], rows)


def variables_table(names, texts, place):
    rows = explained(names, texts, place)
    return table(['variable', 'meaning'], [[f'`{name}`', text] for name, text in rows])


def fields_table(rows):
    def listed(names):
        return ', '.join(f'`{name}`' for name in names)
    return table(['in', 'read', 'without effect, with a warning', 'passed over'],
                 [[f'`{where}`', *map(listed, groups)] for where, *groups in rows])


def tables(texts, program):
    """Name -> table, each from the code."""
    settings, listed = code.shown_settings(program)
    engine = [one for one in settings if not one['key'].startswith('autoscaler.')]
    return {
        'config': settings_table(engine, 'key', ''),
        'autoscaler': settings_table(settings, 'key below `autoscaler`', 'autoscaler.'),
        'annotations': annotations_table(code.annotations(texts)),
        'variables': read_variables_table(code.variables(texts), listed),
        'given': variables_table(code.given_variables(texts), meanings.GIVEN, 'GIVEN'),
        'fields': fields_table(code.fields(texts)),
        'verbs': table(['verb', 'does'], [[f'`{verb}`', meaning] for verb, meaning in code.verbs(program)]),
        'exits': table(['exit status', 'means'], code.exit_statuses(program)),
        'flags': table(['verb', 'flag', 'meaning'],
                       [[f'`{verb}`' if verb else 'before it', f'`{flag}`', meaning] for verb, flag, meaning in code.flags(program)]),
    }


def filled(page, made, unused):
    """The text of a page with its tables put in; their names are taken out of `unused`."""
    def put(match):
        if match[2] not in made:
            raise code.Missing(f'there is no table {match[2]}; there are: {", ".join(made)}')
        unused.discard(match[2])
        return match[1] + '\n' + made[match[2]] + '\n' + match[3]
    return TABLE.sub(put, page)


def differences(made, root, write):
    """The lines by which the pages differ from the code; with `write` they are corrected."""
    unused, found = set(made), []
    for name in PAGES:
        old = (root / name).read_text()
        new = filled(old, made, unused)
        found += difflib.unified_diff(old.splitlines(), new.splitlines(), name, 'the code', lineterm='', n=0)
        if write and new != old:
            (root / name).write_text(new)
    if unused:
        raise code.Missing(f'no page of the manual has the tables {", ".join(sorted(unused))}')
    return found


def main(arguments):
    check = '--check' in arguments
    places = [word for word in arguments if word != '--check']
    if len(places) != 1:
        print('usage: reference.py BIN [--check]', file=sys.stderr)
        return 2
    try:
        made = tables(sources(ROOT), pathlib.Path(places[0], 'sluice'))
        found = differences(made, ROOT, not check)
    except code.Missing as missing:
        print(missing, file=sys.stderr)
        return 1
    if check and found:
        print('\n'.join(found))
        print('the manual differs from the code; correct it: ./dev docs')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
