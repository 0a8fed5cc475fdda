"""Makes static HTML of docs/ and of the pages that it links to: site_of_docs.py OUTPUT.

One page per file. Pages of docs/ keep their place; others, and files that a page links to, go below `tree/`.
"""

import html
import os
import pathlib
import posixpath
import re
import shutil
import sys

from markdown_it import MarkdownIt

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tests' / 'tidy'))

from pages import Pages  # noqa: E402

FIRST = 'docs/manual/index.md'
GROUPS = (('Manual', 'docs/manual/'), ('How it works', 'docs/'), ('Design', 'docs/design/'),
          ('Reference', 'docs/reference/'), ('Beside the code', ''))
OUTSIDE = re.compile(r'[a-z]+:')
FRAME = '''<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Sluice</title>
<link rel="stylesheet" href="{style}">
</head>
<body>
<nav>
{navigation}</nav>
<main>
{body}</main>
</body>
</html>
'''
REDIRECT = '<!doctype html>\n<meta charset="utf-8">\n<title>Sluice</title>\n' \
           '<meta http-equiv="refresh" content="0; url={0}">\n<p><a href="{0}">The manual</a></p>\n'


def place_of(path):
    """Where a file of the tree stands in the site."""
    name = path[len('docs/'):] if path.startswith('docs/') else 'tree/' + path
    # With another suffix a browser shows a file instead of storing it.
    return name[:-len('.md')] + '.html' if name.endswith('.md') else name + '.txt'


class Site:
    """The pages below `root` that begin at docs/, and what they link to."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.anchors = Pages(root)
        self.markdown = MarkdownIt('commonmark').enable('table')
        self.tokens = {}  # path of a page -> its parsed text
        self.files = set()  # of other files that a page links to
        waiting = sorted(path.relative_to(self.root).as_posix() for path in (self.root / 'docs').rglob('*.md'))
        for path in waiting:  # grows while it is read
            self.tokens[path] = self.markdown.parse((self.root / path).read_text())
            for target in self.targets(path):
                if target.endswith('.md'):
                    waiting += [] if target in waiting else [target]
                elif (self.root / target).is_file():
                    self.files.add(target)

    def links(self, path):
        """Yields (token, target in the tree, anchor) of each link of a page to a file of the tree."""
        for token in self.tokens[path]:
            for child in token.children or ():
                if child.type == 'link_open' and not OUTSIDE.match(child.attrGet('href')):
                    target, _, anchor = child.attrGet('href').partition('#')
                    whole = posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) if target else path
                    yield child, whole, anchor

    def targets(self, path):
        return [target for _, target, _ in self.links(path)]

    def title(self, path):
        tokens = self.tokens[path]
        return next((tokens[at + 1].content for at, token in enumerate(tokens) if token.type == 'heading_open'), path)

    def body(self, path):
        """The page as HTML: headings with their anchors, links to pages of the site."""
        headings = [token for token in self.tokens[path] if token.type == 'heading_open']
        for token, anchor in zip(headings, self.anchors.page(path).headings, strict=True):
            token.attrSet('id', anchor)
        here = posixpath.dirname(place_of(path))
        for link, target, anchor in self.links(path):
            if target in self.tokens or target in self.files:
                link.attrSet('href', posixpath.relpath(place_of(target), here or '.') + ('#' + anchor if anchor else ''))
            else:
                link.attrs.clear()  # a folder: its name stays
        return self.markdown.renderer.render(self.tokens[path], self.markdown.options, {})

    def order(self):
        """The pages of the manual as its index lists them, then the others by name."""
        listed = [FIRST, *self.targets(FIRST)]
        return sorted(self.tokens, key=lambda path: (listed.index(path) if path in listed else len(listed), path))

    def grouped(self):
        """[(name of a group, its pages)]; a page belongs to the group with the longest prefix of its path."""
        groups = {name: [] for name, _ in GROUPS}
        for path in self.order():
            name, _ = max((group for group in GROUPS if path.startswith(group[1])), key=lambda group: len(group[1]))
            groups[name].append(path)
        return groups.items()

    def navigation(self, current, titles, groups):
        here = posixpath.dirname(place_of(current)) or '.'
        text = ''
        for name, paths in groups:
            text += f'<h2>{name}</h2>\n<ul>\n'
            for path in paths:
                mark = ' aria-current="page"' if path == current else ''
                text += f'<li><a href="{posixpath.relpath(place_of(path), here)}"{mark}>{titles[path]}</a></li>\n'
            text += '</ul>\n'
        return text

    def write(self, output):
        titles = {path: html.escape(self.title(path).replace('`', '')) for path in self.tokens}
        groups = self.grouped()  # before links lead to pages of the site
        for path in self.tokens:
            file = output / place_of(path)
            file.parent.mkdir(parents=True, exist_ok=True)
            navigation = self.navigation(path, titles, groups)
            style = posixpath.relpath('style.css', posixpath.dirname(place_of(path)) or '.')
            file.write_text(FRAME.format(title=titles[path], style=style, navigation=navigation, body=self.body(path)))
        for path in self.files:
            file = output / place_of(path)
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.root / path, file)
        shutil.copyfile(pathlib.Path(__file__).with_name('style.css'), output / 'style.css')
        (output / 'index.html').write_text(REDIRECT.format(place_of(FIRST)))


def main(arguments):
    if len(arguments) != 1:
        print('usage: site_of_docs.py OUTPUT', file=sys.stderr)
        return 2
    output = pathlib.Path(arguments[0])
    site = Site(ROOT)
    # What an earlier run left; nothing but a site is removed.
    if (output / 'style.css').exists():
        shutil.rmtree(output)
    output.mkdir(parents=True, exist_ok=True)
    site.write(output)
    print(f'{len(site.tokens)} pages: {os.path.relpath(output / "index.html")}')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
