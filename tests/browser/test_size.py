"""How much of the page is sent. Needs no browser."""

import gzip
import pathlib
import re
import sys
import unittest

PAGE = pathlib.Path(__file__).resolve().parents[2] / 'common' / 'dashboard'
sys.path.insert(0, str(PAGE))

from pack import joined, packed_script, packed_style, served  # noqa: E402

BYTES_MAX, COMPRESSED_MAX = 120 << 10, 40 << 10
CHART_LINES_MAX, LINES_MAX = 700, 500


def files():
    return {path.name: path.read_text() for path in sorted(PAGE.iterdir()) if path.suffix in ('.html', '.css', '.js')}


def embedded():
    """Those that the build puts into the programs for the dashboard."""
    names = re.search(r'set\(page ([^)]*)\)', (PAGE.parent / 'CMakeLists.txt').read_text())[1].split()
    return {name: text for name, text in files().items() if name in names}


class Size(unittest.TestCase):
    def test_the_page_is_small(self):
        sent = [text.encode() for text in served(embedded()).values()]
        self.assertGreater(len(sent), 2)
        self.assertLessEqual(sum(map(len, sent)), BYTES_MAX)
        self.assertLessEqual(sum(len(gzip.compress(each, 9, mtime=0)) for each in sent), COMPRESSED_MAX)

    def test_each_module_is_short(self):
        for name, text in files().items():
            if name.endswith('.js'):
                self.assertLessEqual(text.count('\n'), CHART_LINES_MAX if name == 'chart.js' else LINES_MAX, name)

    def test_modules_are_joined_in_the_order_of_their_imports_and_their_names_differ(self):
        sources = {'app.js': "import {b, c} from './b.js';\nb(c);\n", 'b.js': "import {c} from './c.js';\nexport function b() {}\nexport {c};\n", 'c.js': 'export const c = 1;\n'}
        with self.assertRaisesRegex(ValueError, 'app.js: b.js exports no c'):
            joined(sources)
        sources['app.js'] = "import {b} from './b.js';\nimport {c} from './c.js';\nb(c);\n"
        sources['b.js'] = "import {c} from './c.js';\nexport function b() { c(); }\n"
        self.assertEqual(joined(sources), 'const c = 1;\nfunction b() { c(); }\nb(c);\n')
        sources['c.js'] += 'function b() {}\n'
        with self.assertRaisesRegex(ValueError, 'b is in c.js and in b.js'):
            joined(sources)

    def test_packing_takes_out_comments_and_blanks_alone(self):
        for text, packed in {
                '// One.\n\nconst a = {\n  b: "// not",  // gone\n};\nlet c;\n': 'const a={b:"// not",}\nlet c;',
                "return a + +b - -c + ' + ';": "return a+ +b- -c+' + ';",
                'x = /[/ ] \\/ "/g.test(y) / 2;': 'x=/[/ ] \\/ "/g.test(y)/2;',
                'return / a b/.test(c);': 'return/ a b/.test(c);',
                'x = `a  b ${c + `${ {d: 1} }  `}  // ${ e }`;': 'x=`a  b ${c+`${{d:1}}  `}  // ${e}`;',
                'typeof a === "b" in c': 'typeof a==="b"in c',
                'if (a) {\n  b();\n  c();\n}\n': 'if(a){b()\nc()}',
                'a();\n(b);\n++c;\n`d`;\n': 'a();\n(b);\n++c;\n`d`;',
                'a /* b */ in c': 'a in c'}.items():
            self.assertEqual(packed_script(text), packed + '\n')
        self.assertEqual(packed_style('/* One. */\n.a .b { color: red; }\n'), '.a .b{color:red}\n')
        self.assertEqual(packed_style('a > b { top: calc(1px + 2px); }\n'), 'a>b{top:calc(1px + 2px)}\n')
