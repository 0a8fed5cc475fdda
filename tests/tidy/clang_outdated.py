"""Which sources clang-tidy has to read: those it has not passed since they, or a file they include, changed.

    clang_outdated.py BUILD STAMPS    sources on standard input and output, each ended by a NUL

STAMPS has a file for each source that passed, named as the source is, as old as that run. What a source includes
is what ninja recorded when it compiled it; a source that ninja does not know of counts as changed.
"""

import os
import subprocess
import sys


def mtime(path):
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return None


def read_files(build):
    """The files that each source was compiled from, by the source's absolute path."""
    text = subprocess.run(['ninja', '-C', build, '-t', 'deps'], check=True, stdout=subprocess.PIPE, text=True).stdout
    files = {}
    for block in text.split('\n\n'):
        names = [os.path.normpath(os.path.join(build, line.strip())) for line in block.splitlines()[1:]]
        for name in names:
            if name.endswith('.cpp'):
                files[name] = names
    return files


def passed_since(stamp, names, times):
    """True if `stamp` is later than every one of `names`; `times` remembers what was looked up."""
    passed = mtime(stamp)
    if passed is None:
        return False
    for name in names:
        if name not in times:
            times[name] = mtime(name)
        if times[name] is None or times[name] >= passed:
            return False
    return True


def main(build, stamps):
    build = os.path.abspath(build)
    files = read_files(build)
    times = {}
    for source in filter(None, sys.stdin.read().split('\0')):
        names = files.get(os.path.abspath(source))
        if names is None or not passed_since(os.path.join(stamps, source), [*names, os.path.abspath('.clang-tidy')],
                                             times):
            print(source, end='\0')


if __name__ == '__main__':
    main(*sys.argv[1:])
