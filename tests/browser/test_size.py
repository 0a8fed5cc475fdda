"""How much of the page is sent. Needs no browser."""

import gzip
import pathlib
import sys
import unittest

PAGE = pathlib.Path(__file__).resolve().parents[2] / 'common' / 'dashboard'
sys.path.insert(0, str(PAGE))

from pack import packed  # noqa: E402

BYTES_MAX, COMPRESSED_MAX = 120 << 10, 40 << 10
CHART_LINES_MAX, LINES_MAX = 700, 500


def files():
    return [path for path in sorted(PAGE.iterdir()) if path.suffix in ('.html', '.css', '.js')]


class Size(unittest.TestCase):
    def test_the_page_is_small(self):
        served = [packed(path.name, path.read_text()).encode() for path in files()]
        self.assertLessEqual(sum(map(len, served)), BYTES_MAX)
        self.assertLessEqual(sum(len(gzip.compress(each, 9, mtime=0)) for each in served), COMPRESSED_MAX)

    def test_each_module_is_short(self):
        for path in files():
            if path.suffix == '.js':
                most = CHART_LINES_MAX if path.name == 'chart.js' else LINES_MAX
                self.assertLessEqual(path.read_text().count('\n'), most, path.name)

    def test_packing_takes_out_comments_and_indentation_alone(self):
        self.assertEqual(packed('a.js', '// One.\n\nconst a = {\n  b: "// not",  // kept\n};\n'), 'const a = {\nb: "// not",  // kept\n};\n')
        self.assertEqual(packed('a.css', '/* One. */\n.a .b { color: red; }\n'), '.a .b{color:red;}\n')
