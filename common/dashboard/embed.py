"""Writes the files of the page as C++: embed.py OUTPUT.cpp FILE... (common/dashboard/page_files.h)."""

import gzip
import hashlib
import pathlib
import sys

from pack import served

TYPES = {'.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml'}
HEAD = '''// Made of the files in common/dashboard by embed.py.
#include "common/dashboard/page_files.h"

#include <algorithm>
#include <array>

namespace sluice::dashboard {
namespace {

'''
TAIL = '''
}}  // namespace

const PageFile* find_page(std::string_view name) {{
  static constexpr std::array<PageFile, {count}> kFiles{{{{
{rows}
  }}}};
  const auto* const found = std::find_if(kFiles.begin(), kFiles.end(),
                                         [name](const PageFile& file) {{ return file.name == name; }});
  return found == kFiles.end() ? nullptr : found;
}}

}}  // namespace sluice::dashboard
'''


def array(name, content):
    numbers = ','.join(str(byte if byte < 128 else byte - 256) for byte in content)
    return f'constexpr std::array<char, {len(content)}> {name}{{{numbers}}};\n'


def main():
    output, files = pathlib.Path(sys.argv[1]), [pathlib.Path(name) for name in sys.argv[2:]]
    arrays, rows = [], []
    for number, (file, text) in enumerate(served({path.name: path.read_text() for path in files}).items()):
        content = text.encode()
        arrays.append(array(f'k{number}', content))
        arrays.append(array(f'k{number}Gzip', gzip.compress(content, 9, mtime=0)))
        name = '' if file == 'index.html' else file
        tag = hashlib.sha256(content).hexdigest()[:32]
        rows.append(f'      {{"{name}", "{TYPES[pathlib.Path(file).suffix]}; charset=utf-8", "\\"{tag}\\"", '
                    f'{{k{number}.data(), k{number}.size()}}, '
                    f'{{k{number}Gzip.data(), k{number}Gzip.size()}}}},')
    output.write_text(HEAD + ''.join(arrays) + TAIL.format(count=len(rows), rows='\n'.join(rows)))


if __name__ == '__main__':
    main()
