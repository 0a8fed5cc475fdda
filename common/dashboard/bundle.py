"""Writes a page of one file, whose data comes later, as C++: bundle.py OUTPUT.cpp FUNCTION PAGE.html FILE... (report_file.h).

The files are style sheets and scripts: modules, of which the last one imports the others. The policy of the page names both by their
hashes.
"""

import base64
import hashlib
import pathlib
import sys

from embed import array
from pack import joined, packed_script, packed_style

TEXT_MARK = '<pre id="text">'
HEAD = '''// Made of files in common/dashboard by bundle.py.
#include "common/dashboard/report_file.h"

#include <array>

namespace sluice::dashboard {
namespace {

'''
TAIL = '''
}  // namespace

ReportFile FUNCTION() {
  return {{FUNCTION_0.data(), FUNCTION_0.size()}, {FUNCTION_1.data(), FUNCTION_1.size()},
          {FUNCTION_2.data(), FUNCTION_2.size()}};
}

}  // namespace sluice::dashboard
'''


def source(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def parts(page, files):
    """The texts before the text, between it and the data, and behind the data."""
    scripts = [path for path in files if path.suffix == '.js']
    script = packed_script(joined({path.name: path.read_text() for path in scripts}, scripts[-1].name))
    if '</script' in script:
        sys.exit('bundle.py: the script ends its own element')
    look = ''.join(packed_style(path.read_text()) for path in files if path.suffix == '.css')
    policy = (f"default-src 'none'; script-src {source(script)}; style-src {source(look)}; img-src data:; base-uri 'none'; "
              "form-action 'none'")
    head, tail = page.read_text().split(TEXT_MARK)
    head = head.replace('<title>', f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<title>')
    head = head.replace('</head>', f'<style>{look}</style>\n</head>') + TEXT_MARK
    text_end, body_end = tail.split('</body>')
    return (head, text_end + '<script type="application/json" id="data">',
            f'</script>\n<script type="module">{script}</script>\n</body>' + body_end)


def main():
    function = sys.argv.pop(2)
    output, page, *files = (pathlib.Path(name) for name in sys.argv[1:])
    arrays = (array(f'{function}_{i}', part.encode()) for i, part in enumerate(parts(page, files)))
    output.write_text(HEAD + ''.join(arrays) + TAIL.replace('FUNCTION', function))


if __name__ == '__main__':
    main()
