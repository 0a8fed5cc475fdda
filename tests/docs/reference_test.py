"""How the tables of the manual follow the code: a name that is new there, or gone, fails."""

import json
import pathlib
import stat
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'docs' / 'site'))

import meanings  # noqa: E402
import reference  # noqa: E402
import settings_in_code as code  # noqa: E402

ANNOTATIONS = '''
constexpr std::array<std::string_view, 2> kAliased{"min-scale",
                                                   "scale-down-delay"};
constexpr std::array<std::string_view, 1> kPlain{"class"};
constexpr const char* kDeadline = "serving.knative.dev/progress-deadline";
'''
PARSER = '''
  const YamlKeys keys{{"name"}, {"namespace"}, {"labels", "uid"}};
  for (const YamlEntry& field : reader.entries(entry.value, entry.line, "metadata", keys)) {
  for (const YamlEntry& part :
       reader.entries(field.value, field.line, "tcpSocket", {{"port"}, {"host"}}))
'''
HELP = '''Examples:
  sluice up

Usage: sluice up [FLAGS]

Positionals:
  SERVICE TEXT REQUIRED       SERVICE or ENGINE/SERVICE

Flags:
  -h,--help                   Print this help message and exit
  -f,--file FILE ... REQUIRED a file
  --tail INT:INT in [0 - 10000]
                              number of lines
  -o,--output TEXT:{text,json}
                              text or
                              json
  --seed UINT=1               the seed

'''


class NamesTest(unittest.TestCase):
    def test_annotations_have_their_other_spelling(self):
        found = dict(code.annotations({code.ANNOTATIONS: ANNOTATIONS, code.PLACEMENT: '{"pin", &Reading::pin}',
                                       'platform/process/a.cpp': '"sluice.dev/port"'}))
        self.assertEqual(found, {'autoscaling.knative.dev/class': '', 'autoscaling.knative.dev/min-scale': 'minScale',
                                 'autoscaling.knative.dev/scale-down-delay': 'scaleDownDelay', 'sluice.dev/port': '',
                                 'placement.sluice.dev/pin': '',
                                 'serving.knative.dev/progress-deadline': ''})

    def test_variables_are_those_that_are_read(self):
        text = 'std::getenv("HOME"); absolute_env(env, "XDG_STATE_HOME"); set("SLUICE_SET", 1);'
        self.assertEqual(code.variables({'programs/sluice/a.cpp': text}), ['HOME', 'XDG_STATE_HOME'])

    def test_fields_have_their_three_lists(self):
        sources = dict.fromkeys(code.PARSERS, '') | {code.PARSERS[0]: PARSER}
        self.assertEqual(code.fields(sources), [('metadata', ['name'], ['namespace'], ['labels', 'uid']),
                                                ('tcpSocket', ['port'], ['host'], [])])

    def test_flags_are_read_out_of_the_help(self):
        rows = [code.plain_flag(*row) for row in code.rows_of_help(HELP)]
        self.assertEqual(rows, [('SERVICE', 'SERVICE or ENGINE/SERVICE'), ('-h, --help', 'Print this help message and exit'),
                                ('-f, --file FILE ...', 'a file'), ('--tail N', 'number of lines; 0 to 10000'),
                                ('-o, --output text|json', 'text or json'), ('--seed UINT', 'the seed (`1`)')])

    def test_a_table_that_has_moved_is_an_error(self):
        for read in (code.annotations, code.given_variables, code.fields):
            with self.subTest(read=read.__name__), self.assertRaises(code.Missing):
                read(dict.fromkeys((code.ANNOTATIONS, code.SIDECAR, *code.PARSERS), ''))


class TablesTest(unittest.TestCase):
    def setUp(self):
        self.sources = reference.sources(ROOT)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = pathlib.Path(folder.name, 'sluice')
        shown = {'settings': [{'key': 'http', 'type': 'address', 'default': ':1', 'meaning': 'the door'},
                              {'key': 'autoscaler.window', 'type': 'time', 'default': '', 'meaning': 'long'}],
                 'environment': [{'key': name, 'default': 'none', 'meaning': 'listed'}
                                 for name in sorted(set(code.variables(self.sources)) - set(meanings.VARIABLES))]}
        help_of_all = {'flags': [{'names': ['--server'], 'value': 'URL', 'about': 'elsewhere'},
                                 {'names': ['-h', '--help'], 'value': '', 'about': 'help'}],
                       'exit_statuses': [{'status': 78, 'meaning': 'a wrong file'}]}
        self.program.write_text(f'#!/bin/sh\n[ "$1" = help ] && echo \'{json.dumps(help_of_all)}\' && exit\n'
                                f'[ "$1" = config ] && echo \'{json.dumps(shown)}\' && exit\n'
                                '[ $# = 1 ] && printf "\\nVerbs:\\n  up  start\\n\\n" && exit\n'
                                'printf "Flags:\\n  --demo                      the app\\n"\n')
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def test_every_table_is_in_the_manual(self):
        made = reference.tables(self.sources, self.program)
        self.assertEqual(made['flags'], '| verb | flag | meaning |\n| --- | --- | --- |\n'
                         '| before it | `--server URL` | elsewhere |\n| `up` | `--demo` | the app |\n')
        self.assertIn('| 78 | a wrong file |\n', made['exits'])
        self.assertIn('| `http` | address | `:1` | the door |\n', made['config'])
        self.assertIn('| `window` | time | none | long |\n', made['autoscaler'])
        self.assertIn('| `XDG_STATE_HOME` | listed; otherwise none |\n', made['variables'])
        pages = ''.join((ROOT / page).read_text() for page in reference.PAGES)
        for name in ('annotations', 'given', 'fields'):
            self.assertIn(made[name], pages)

    def test_a_new_name_fails_until_it_has_a_meaning(self):
        path = code.ANNOTATIONS
        self.sources[path] = self.sources[path].replace('kPlain{', 'kPlain{"new-key", ')
        with self.assertRaisesRegex(code.Missing, 'autoscaling.knative.dev/new-key has no meaning'):
            reference.tables(self.sources, self.program)

    def test_a_name_that_left_the_code_fails(self):
        with self.assertRaisesRegex(code.Missing, 'HOME is not in the code'):
            reference.explained(['PATH'], {'PATH': 'a', 'HOME': 'b'}, 'VARIABLES')

    def test_every_annotation_has_a_default_and_a_meaning(self):
        for name, text in meanings.ANNOTATIONS.items():
            self.assertTrue(len(text) == 2 and all(text), name)


if __name__ == '__main__':
    unittest.main()
