"""Shows that each rule bites: one planted breach per rule, in a tree of its own."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from clang_outdated import passed_since  # noqa: E402
from rules import RULES  # noqa: E402
from source import Source  # noqa: E402
from tidy import breaches, name_of, sources, tree_breaches  # noqa: E402
from unused import TREE_RULES  # noqa: E402

LONG_BODY = 'void run() {\n' + '  step();\n' * 80 + '}\n'
LONG_CONSTRUCTOR = 'A::A(int b) : b_{b}, c_{2} {\n' + '  step();\n' * 80 + '}\n'

# rule -> [(path, text)]: each text breaks that rule and no other.
PLANTS = {
    'file-length': [('common/load/long.cpp', '// line\n' * 501),
                    ('programs/activator/main.cpp', '// line\n' * 41),
                    ('programs/activator/README.md', 'line\n' * 61),
                    ('CMakeLists.txt', '# line\n' * 151)],
    'function-length': [('activator/core/a.cpp', LONG_BODY),
                        ('activator/core/b.cpp', LONG_CONSTRUCTOR),
                        ('tests/a.py', 'def run():\n' + '    pass\n' * 80)],
    'empty-name': [('common/base/string_util.h', '#pragma once\n'),
                   ('programs/helpers/a.cpp', ''),
                   ('activator/core/a.cpp', 'class PodManager {};\n')],
    'clock-read': [('activator/io/a.cpp', 'auto t = std::chrono::steady_clock::now();\n')],
    'detached-task': [('activator/io/a.cpp', 'co_spawn(io, run(), asio::detached);\n')],
    'sleeping': [('tests/unit/a.cpp', 'std::this_thread::sleep_for(1s);\n'),
                 ('tests/unit/b.cpp', 'usleep(10);\n'),
                 ('tests/a.py', 'import time\ntime' + '.sleep(1)\n')],
    'core-include': [('activator/core/a.cpp', '#include <boost/asio.hpp>\n'),
                     ('activator/core/b.cpp', '#include "common/net/server/listener.h"\n'),
                     ('activator/core/c.cpp', '#include "activator/io/front.h"\n'),
                     ('activator/core/d.cpp', '#include "common/time/clock.h"\n'),
                     ('common/load/e.cpp', '#include <sys/socket.h>\n')],
    'leftward-include': [('common/net/a.cpp', '#include "programs/activator/app.h"\n'),
                         ('activator/io/a.cpp', '#include "autoscaler/core/decision/decider.h"\n'),
                         ('activator/io/b.cpp', '#include "programs/activator/app.h"\n'),
                         ('activator/io/c.cpp', '#include "front.h"\n'),
                         ('platform/kubernetes/io/d.cpp', '#include "programs/activator/app.h"\n'),
                         ('programs/activator/e.cpp', '#include "programs/autoscaler/app.h"\n'),
                         ('programs/node-agent/f.cpp', '#include "common/kube/watch.h"\n'),
                         ('memory-pressure/io/g.cpp', '#include "common/kube/watch.h"\n')],
    'using-namespace': [('activator/io/a.h', '#pragma once\nusing namespace std::literals;\n'),
                        ('activator/io/a.cpp', 'using namespace std;\n')],
    'macro': [('activator/io/a.cpp', '#define TRY(x) x\n')],
    'null-pointer': [('activator/io/a.cpp', 'char* text = NULL;\n')],
    'pragma-once': [('activator/io/a.h', '#ifndef A\n#endif\n')],
    'capturing-coroutine': [
        ('activator/io/a.cpp', 'auto f = [this]() -> asio::awaitable<void> { co_return; };\n')],
    'ownerless': [('activator/io/a.cpp', 'auto self = shared_from_this();\n')],
    'type-query': [('activator/io/a.cpp', 'auto* b = dynamic_cast<B*>(a);\n')],
    'shared-state': [('activator/io/a.cpp', 'static std::string last_error;\n'),
                     ('activator/io/b.cpp', 'int f() {\n  static int calls = 0;\n}\n')],
    'shell': [('platform/process/a.cpp', 'std::system("ls");\n')],
    'unmarked-result': [('activator/io/a.h', '#pragma once\nResult<int> parse(int x);\n')],
    'skipped-test': [('tests/unit/a.cpp', 'void f() { GTEST_' + 'SKIP(); }\n'),
                     ('tests/unit/b.cpp', 'TEST(A, DISABLED' + '_B) {}\n'),
                     ('tests/a.py', '@unittest.' + 'skip("later")\ndef f(): pass\n')],
    'silenced-check': [('activator/io/a.cpp', 'int a;  // NOLINT\n'),
                       ('activator/io/b.cpp', 'int a;  // NOLINT(bugprone-x)\n')],
    'unnumbered-promise': [('README.md', 'TO' + 'DO: write\n'),
                           ('activator/io/a.cpp', '// TO' + 'DO later\n')],
    'plain-wording': [('activator/io/a.cpp', 'const char* kWhy = "this request wakes nobody";\n'),
                      ('activator/io/b.cpp', 'log("the pod is "\n    "told again");\n'),
                      ('activator/io/c.h', '#pragma once\nconstexpr auto kHelp = "Once.\\nAnew.";\n'),
                      ('activator/io/d.cpp', 'int a;  // of a pod that is no\n        // more\n'),
                      ('activator/io/e.h', '#pragma once\n/* Hears of pods. */\nint b();  ///< `nobody`\n'),
                      ('common/proto/f.proto', '// Whom it concerns.\n'),
                      ('programs/activator/METRICS.md', 'probes that\nsomebody sends\n'),
                      ('docs/design/a' + '.md', 'An earlier\nlife.\n'), ('activator/DECISIONS.md', 'A dear call.\n'),
                      ('CONTRIBUTING.md', 'The rules of the house.\n')],
    'unsafe-page': [('common/dashboard/' + name, text) for name, text in (
        ('a.js', 'node.innerHTML = name;\n'), ('b.js', 'node.outerHTML += name;\n'), ('c.js', "node.insertAdjacentHTML('beforeend', name);\n"),
        ('d.js', 'eval (name);\n'), ('e.js', 'const act = new Function(name);\n'), ('f.js', "link.href = 'javascript:' + name;\n"),
        ('g.js', "setTimeout('act()', 1);\n"), ('h.js', 'document.write(name);\n'), ('i.html', '<p onclick="act()">x</p>\n'),
        ('j.html', '<script type="module">act();</script>\n'))],
    'machine-path': [('README.md', 'see /home' + '/ann/sluice\n')],
    'globbed-source': [('common/CMakeLists.txt', 'file(GLOB all *.cpp)\n')],
    'citation': [('common/load/a.h', '#pragma once\n// As gone' + '.md 3 says.\n'),
                 ('README.md', 'See [there](docs/gone' + '.md).\n')],
    'missing-path': [('programs/activator/README.md', '`core/` decides.\n'),
                     ('activator/DECISIONS.md', 'As `activator/core/gone.h` does.\n'),
                     ('docs/a' + '.md', 'One.\n\nSee `docs/gone`.\n')],
    'riddling-test-name': [('tests/unit/a_test.cpp', 'TEST(Pods, ServeNobody) {}\n'),
                           ('tests/unit/b_test.cpp', 'TEST_F(Pods,\n       WhoWaitsIsServed) {}\n'),
                           ('tests/unit/c_test.cpp', 'TYPED_TEST(Pods, AreProbedNoMore) {}\n'),
                           ('tests/integration/test_a.py', 'def test_a_pod_goes_on(self): pass\n')],
}

CLEAN = {
    'common/base/check.h': '#pragma once\n#define CHECK(x) check(x)\n',
    'common/time/clock.cpp': 'auto t = std::chrono::steady_clock::now();\n',
    'activator/core/a.h': '#pragma once\n#include "common/load/request_stats.h"\n'
                          '#include <vector>\n[[nodiscard]] Result<int> parse(int x);\n'
                          'void sleep(TimePoint now);  // this_thread::sleep_for in a comment\n',
    'activator/core/a.cpp': 'const char* kText = "std::system(NULL) detached";\n'
                            'static constexpr int kSize = 3;\nusing namespace std::literals;\n',
    'activator/io/b.cpp': '// Calls `nobody()`; it is no more than told.\nconst char* kText = "is" + name + "told: renewed";\n',
    'docs/a' + '.md': 'In `activator/core/a`, `activator/core/`, `specs/`, `build/release/gone`: `Nobody.IsTold` is\n\n```\nanew\n```\n\n42 names are no more than 50.\n',
    'tests/unit/activator/io/b_test.cpp': '// Nobody.\n',
    'tests/unit/a_test.cpp': 'TEST(Pods, TakeNoMoreRequestsThanTheyServe) {}\nTEST(Pods, WholeListIsRead) {}\n',
    'activator/io/a.cpp': '// NOLINTNEXTLINE(bugprone-x): the reason\nint a;  // TO' + 'DO(#3)\n',
    'platform/process/a.cpp': '#include "autoscaler/core/decision/decider.h"\n',
    'common/dashboard/a.js': 'node.textContent = name;\nsetTimeout(() => act(), 1);\n',
    'common/dashboard/a.html': '<script type="module" src="app.js"></script>\n',
}

# One page with every kind of number that can be cited, and DECISIONS beside the code.
CITED = {
    'docs/reference/trade' + '.md': '# Trade\n\n## 4. Prices\n\n### 4.2 By weight\n\n| # | case |\n|---|---|\n| 7 | a |\n'
                               '| L3 | b |\n\n| 4.2.9 | c |\n\n- **4.3** by length\n\n## 5. Ours\n\n1. One.\n2. Two.\n',
    'platform/DECISIONS' + '.md': '# Decisions\n\n## 2. Two\n',
}
PAGE = 'trade' + '.md'
GOOD_CITATIONS = (f'{PAGE}', f'{PAGE} 4, 4.2 and 5.1', f'{PAGE} 4.2 to 5.2', f'{PAGE} 4.2.9', f'{PAGE}, section 4.3',
                  f'{PAGE} §4', f'sections 4 and 5 of {PAGE}', f'{PAGE} 4, row 7', f'{PAGE} 4.2, rows 7 and L3',
                  f'{PAGE} 5; row 7', f'{PAGE} 5, its row 7', f'row 7 of {PAGE} 4', f'docs/reference/{PAGE} 4', 'decision' + ' 2',
                  f'{PAGE}\n// 4.2')
# citation -> the one complaint about it
WRONG_CITATIONS = {
    f'{PAGE} 6': f"'{PAGE}' has no 6", f'{PAGE} 4.22': f"'{PAGE}' has no 4.22", f'{PAGE} 4, 4.2 and 5.7': f"'{PAGE}' has no 5.7",
    f'{PAGE} 4 to 9': f"'{PAGE}' has no 9", f'{PAGE}, section 3': f"'{PAGE}' has no 3", f'{PAGE} §8': f"'{PAGE}' has no 8",
    f'sections 4 and 6 of {PAGE}': f"'{PAGE}' has no 6", f'{PAGE}\n// 4.4': f"'{PAGE}' has no 4.4",
    f'{PAGE} 5, row 7': f"'{PAGE}' has no row 7 in 5", f'{PAGE} 5; row 8': f"'{PAGE}' has no row 8",
    f'rows 7 and 9 of {PAGE} 4': f"'{PAGE}' has no row 9 in 4", f'docs/{PAGE} 4': f"there is no page 'docs/{PAGE}' here, above or in docs",
    'decision' + ' 3': "'DECISIONS" + ".md' has no 3", 'DECISIONS' + ' 2 and 4': "'DECISIONS" + ".md' has no 4",
}
LINKS = {'[a](trade' + '.md#4-prices)': None, '[a](#here-it-is)': None, '[a](https://example.com/x' + '.md)': None,
         '[a](trade' + '.md#5-prices)': "'trade" + ".md' has no heading '#5-prices'",
         '[a](#there)': "'page" + ".md' has no heading '#there'", '[a](..)': None, '[a](../lost)': "nothing stands at '../lost'"}


# A tree in which programs use all they have, and what breaks one rule when added to it.
USED = {
    'programs/activator/main.cpp': '#include "activator/core/line.h"\nint main() {\n  Line line{kLineMax};\n'
                          '  return line.length() + shown(line);\n}\n',
    'activator/core/line.h': '#pragma once\ninline constexpr int kLineMax = 3;\nclass Line {\n public:\n'
                             '  explicit Line(int most);\n  int length() const;\n'
                             '  void ended() override;\n};\nint shown(const Line& line);\n',
    'activator/core/line.cpp': '#include "activator/core/line.h"\nint Line::length() const {\n'
                               '  return 1;\n}\nint shown(const Line& line) {\n  return 2;\n}\n',
    'tests/unit/activator/core/a_test.cpp': '#include "activator/core/a.h"\nint a = b() + C{}.size() + kD;\n',
}
TREE_PLANTS = {
    'unused-header': [{'activator/core/a.h': '#pragma once\n',
                       'activator/core/a.cpp': '#include "activator/core/a.h"\n'}],
    'unused-name': [
        {'activator/core/a.h': '#pragma once\nint b();\n',
         'activator/core/a.cpp': '#include "activator/core/a.h"\nint b() {\n  return 1;\n}\n'},
        {'activator/core/a.h': '#pragma once\nstruct Line;\n[[nodiscard]] std::vector<Line>\n    b();\n'},
        {'activator/core/a.h': '#pragma once\ninline constexpr int kD = 1;\n'},
        {'activator/core/a.h': '#pragma once\nusing B = Line;\n'}],
    'unused-class': [
        {'activator/core/a.h': '#pragma once\nclass C;\nclass C {\n public:\n  C();\n'
                               '  bool operator==(const C& other);\n  int length();\n};\n',
         'activator/core/a.cpp': '#include "activator/core/a.h"\nC::C() : a{1} {}\n'
                                 'int C::length() {\n  return C{}.a;\n}\n'}],
}


def check(files):
    """The rules broken by a tree of these files."""
    return {rule for rule, _ in complaints(files)}


def complaints(files):
    """(rule, fix) of every breach in a tree of these files, in order."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return [(rule, fix) for _, _, rule, fix in breaches(sources(root))]


def check_tree(files):
    """The rules over whole trees that these files break."""
    tree = [Source(path, text) for path, text in files.items()]
    return {rule for _, _, rule, _ in tree_breaches(tree)}


class TidyTest(unittest.TestCase):
    def test_every_rule_has_a_planted_breach(self):
        self.assertEqual({rule.__name__.replace('_', '-') for rule in RULES}, set(PLANTS))

    def test_each_planted_breach_is_found_and_no_other(self):
        for rule, plants in PLANTS.items():
            for path, text in plants:
                with self.subTest(rule=rule, path=path):
                    self.assertEqual(check({path: text}), {rule})

    def test_citations_that_lead_somewhere_pass_and_each_wrong_one_is_named(self):
        cases = [(text, []) for text in GOOD_CITATIONS] + [(text, [fix]) for text, fix in WRONG_CITATIONS.items()]
        for text, wanted in cases:
            with self.subTest(text=text):
                found = complaints(CITED | {'platform/process/a.h': f'#pragma once\n// As {text} says.\n'})
                self.assertEqual([fix for _, fix in found], wanted)

    def test_a_citation_is_found_at_its_line(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / 'README.md').write_text('One.\n\nAs gone' + '.md\nsays.\n')
            self.assertEqual([line for _, line, _, _ in breaches(sources(pathlib.Path(folder)))], [3])

    def test_links_lead_to_files_and_headings(self):
        for link, wanted in LINKS.items():
            with self.subTest(link=link):
                found = complaints(CITED | {'docs/reference/page' + '.md': f'# Here it is\n\n{link}\n\n```\n[b](gone)\n```\n'})
                self.assertEqual([fix for _, fix in found], [wanted] if wanted else [])

    def test_code_that_no_program_uses_is_found(self):
        self.assertEqual({name_of(rule) for rule in TREE_RULES}, set(TREE_PLANTS))
        include = '#include "activator/core/a.h"\n'
        for rule, plants in TREE_PLANTS.items():
            for files in plants:
                with self.subTest(rule=rule, files=files):
                    tree = USED | files
                    if rule != 'unused-header':
                        tree['programs/activator/main.cpp'] = include + tree['programs/activator/main.cpp']
                    self.assertEqual(check_tree(tree), {rule})

    def test_a_feature_whose_test_is_gone_is_found(self):
        there = {'tests/integration/test_hosts.py': 'class Hosts(Case):\n    pass\n',
                 'tests/kubernetes/tier1/test_leases.py': 'class Holders(Case):\n    pass\n',
                 'tests/unit/load/a_test.cpp': 'TEST_F(LoadTest, Counts) {}\n'}
        table = '# Features\n\n| feature | test |\n|---|---|\n| hosts | `{}` |\n'
        for name, missing in (('hosts.Hosts', False), ('tier1.leases.Holders', False), ('LoadTest', False),
                              ('LoadTest.Counts', False), ('hosts.Gone', True), ('tier1.gone.Holders', True),
                              ('LoadTest.Gone', True), ('GoneTest', True)):
            with self.subTest(name=name):
                found = check_tree(there | {'docs/features.md': table.format(name)})
                self.assertEqual(found, {'unknown-feature-test'} if missing else set())

    def test_a_quoted_message_that_no_program_has_is_found(self):
        there = {'platform/process/a.cpp': 'auto text = fmt::format("{} listens on {}, "\n    "not on $PORT; \\"x\\"", a, b);\n'}
        page = '# Troubleshooting\n\n| you see | do |\n|---|---|\n| `{}` | run `gone` |\n\n`gone`\n'
        for message, missing in (('… listens on …, not on $PORT', False), ('not on $PORT; "x"', False),
                                 ('… listens at …', True), ('… listens on …, nor on $PORT', True)):
            with self.subTest(message=message):
                found = check_tree(there | {'docs/manual/troubleshooting' + '.md': page.format(message)})
                self.assertEqual(found, {'unknown-message'} if missing else set())

    def test_a_page_that_no_index_links_to_is_found(self):
        index = {'docs/README' + '.md': '[a](a' + '.md) [m](manual/index' + '.md#b)\n', 'docs/a' + '.md': '',
                 'docs/manual/index' + '.md': '[b](b' + '.md)\n', 'docs/manual/b' + '.md': ''}
        self.assertEqual(check_tree(index), set())
        self.assertEqual(check_tree(index | {'docs/manual/c' + '.md': ''}), {'unlisted-page'})

    def test_code_that_a_program_uses_is_not_found(self):
        self.assertEqual(check_tree(USED), set())

    def test_a_source_is_read_again_when_what_it_includes_changed_since_it_passed(self):
        with tempfile.TemporaryDirectory() as folder:
            stamp, source, header = (os.path.join(folder, name) for name in ('stamp', 'a.cpp', 'a.h'))
            self.assertFalse(passed_since(stamp, [source, header], {}))
            for path, second in ((source, 1), (header, 2), (stamp, 3)):
                pathlib.Path(path).touch()
                os.utime(path, (second, second))
            self.assertTrue(passed_since(stamp, [source, header], {}))
            os.utime(header, (3, 3))
            self.assertFalse(passed_since(stamp, [source, header], {}))
            os.unlink(header)
            self.assertFalse(passed_since(stamp, [source, header], {}))

    def test_clean_tree_passes(self):
        self.assertEqual(check(CLEAN), set())


if __name__ == '__main__':
    unittest.main()
