"""What the tests of the page have in common: one browser for all, an engine of its own for each."""

import atexit
import unittest

import world
from driver import Browser
from fake_engine import TOKEN, FakeEngine

WIDTH, HEIGHT = 1440, 1200
_browsers = []


def the_browser():
    if not _browsers:
        _browsers.append(Browser(WIDTH, HEIGHT))
        atexit.register(_browsers[0].close)
    return _browsers[0]


class PageCase(unittest.TestCase):
    """A page over a stand-in. At the end of each test nothing is in the console, and nothing was asked of another host."""

    quiet = True

    @classmethod
    def setUpClass(cls):
        cls.browser = the_browser()

    def setUp(self):
        self.browser.size(WIDTH, HEIGHT)
        self.browser.media(prefers_color_scheme='light')

    def engine(self, services=None, **options):
        engine = FakeEngine(world.shop() if services is None else services, **options)
        self.addCleanup(engine.close)
        return engine

    def show(self, engine, address='#/', ready='live', token=False):
        """The page at `address`; returns when it has `ready` in its text."""
        if token:
            address += ('&' if '?' in address else '?') + f'token={TOKEN}'
        self.browser.open(engine.url + address)
        self.browser.wait_text(ready)
        return self.browser

    def service(self, engine, name='shop', query='', **options):
        page = self.show(engine, f'#/s/default/{name}{query}', **options)
        page.until('document.querySelector(".sentence")?.innerText')
        return page

    def tearDown(self):
        foreign = self.browser.run('return performance.getEntriesByType("resource").map((entry) => entry.name).filter((name) => new URL(name).origin !== location.origin)')
        self.assertEqual(foreign, [])
        if self.quiet:
            self.assertEqual(self.browser.console(), [])

    def choose(self, text, css='button'):
        """Presses the button that begins with this text."""
        self.browser.until(f'[...document.querySelectorAll({css!r})].some((button) => button.innerText.startsWith({text!r}))')
        self.browser.run('[...document.querySelectorAll(arguments[0])].find((button) => button.innerText.startsWith(arguments[1])).click()', css, text)

    def enter(self, ident, value):
        """Gives an input of a dialog another value."""
        self.browser.run('const input = document.getElementById(arguments[0]); input.value = arguments[1]; input.dispatchEvent(new Event("input"));', ident, value)

    def enter_token(self, token):
        """Answers the dialog that asks for the token."""
        self.browser.type('#token', token)
        self.browser.click('dialog .primary')

    def rows(self):
        """The names in the list, from top to bottom."""
        return self.browser.run('return [...document.querySelectorAll(".row .name a")].map((link) => link.innerText)')
