"""Which version a build is: that of the tag v1.2.3 at HEAD, else the newest of CHANGELOG.md."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
NUMBERS = r'[0-9]+\.[0-9]+\.[0-9]+'
GIT_SECONDS = 30


def git(*arguments):
    """What git prints, or nothing where this is no clone."""
    try:
        done = subprocess.run(['git', '-C', str(ROOT), *arguments], capture_output=True, text=True,
                              timeout=GIT_SECONDS)
    except OSError:
        return ''
    return done.stdout.strip() if done.returncode == 0 else ''


def changelog_version():
    """The version of the newest heading of CHANGELOG.md, which CMake reads too."""
    return re.search(rf'^## ({NUMBERS})', (ROOT / 'CHANGELOG.md').read_text(), re.MULTILINE).group(1)


def version():
    tags = (re.fullmatch(f'v({NUMBERS})', tag) for tag in git('tag', '--points-at', 'HEAD').split())
    tagged = [match.group(1) for match in tags if match]
    return max(tagged, key=lambda text: [int(part) for part in text.split('.')], default=changelog_version())


def commit_seconds():
    """The time of HEAD, the one time that all files of a package have."""
    return int(git('log', '-1', '--format=%ct') or 0)


if __name__ == '__main__':
    print(version())
