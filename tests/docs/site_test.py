"""The HTML that `./dev docs` makes: every page is there, and every link leads to a page and a heading of it."""

import html.parser
import pathlib
import posixpath
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'docs' / 'site'))

from site_of_docs import Site, place_of  # noqa: E402


class Parsed(html.parser.HTMLParser):
    """What a page links to, and the anchors that it has."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.links += [named[name] for name in ('href', 'src') if name in named]
        self.anchors += [named['id']] if 'id' in named else []


class SiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.output = pathlib.Path(cls.folder.name)
        Site(ROOT).write(cls.output)
        cls.pages = {path.relative_to(cls.output).as_posix(): Parsed(path.read_text())
                     for path in cls.output.rglob('*.html')}

    def test_every_page_of_docs_is_a_page_of_the_site(self):
        for path in (ROOT / 'docs').rglob('*.md'):
            self.assertIn(place_of(path.relative_to(ROOT).as_posix()), self.pages)

    def test_every_link_leads_to_a_file_and_a_heading(self):
        for name, page in self.pages.items():
            for link in page.links:
                if link.startswith(('http:', 'https:')):
                    continue
                target, _, anchor = link.partition('#')
                place = posixpath.normpath(posixpath.join(posixpath.dirname(name), target)) if target else name
                with self.subTest(page=name, link=link):
                    self.assertTrue((self.output / place).is_file())
                    if anchor:
                        self.assertIn(anchor, self.pages[place].anchors)

    def test_anchors_of_a_page_differ(self):
        for name, page in self.pages.items():
            self.assertEqual(len(page.anchors), len(set(page.anchors)), name)

    def test_the_manual_is_first_in_the_order_of_its_index(self):
        links = self.pages['manual/index.html'].links
        self.assertEqual(links[:5], ['../style.css', 'index.html', 'install.html', 'run.html', 'configuration.html'])
        self.assertIn('manual/index.html', self.pages['index.html'].links)


if __name__ == '__main__':
    unittest.main()
