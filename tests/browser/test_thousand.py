"""A fleet of a thousand: only what is in view is in the page, and all of it can be reached."""

import urllib.parse

import world
from case import PageCase


class Thousand(PageCase):
    def setUp(self):
        super().setUp()
        self.fake = self.engine(world.thousand())
        self.page = self.show(self.fake, ready='all 1\u202f000')

    def test_only_rows_in_view_are_in_the_page(self):
        self.assertLess(self.page.run('return document.querySelectorAll(".row").length'), 60)
        self.page.run('scrollTo(0, document.body.scrollHeight)')
        self.page.wait_text('service-0999')
        self.assertLess(self.page.run('return document.querySelectorAll(".row").length'), 60)
        names = self.rows()
        self.assertEqual(names, sorted(names))

    def test_the_stream_carries_the_rows_in_view_alone(self):
        self.page.run('scrollTo(0, 20000)')
        self.page.until('document.querySelector(".row .name a").innerText > "service-03"')
        wanted = f'default/{self.rows()[10]}'
        for _ in range(100):
            names = self.asked()
            if wanted in names:
                break
            self.page.run('return new Promise((done) => setTimeout(done, 50))')
        self.assertIn(wanted, names)
        self.assertLessEqual(len(names), 60)

    def asked(self):
        """The rows that the newest stream is to carry."""
        paths = [path for _, path in self.fake.seen if 'rows=' in path]
        return urllib.parse.parse_qs(urllib.parse.urlsplit(paths[-1]).query).get('rows', [''])[0].split(',') if paths else []

    def test_keys_reach_the_last_row_and_the_filter_any(self):
        self.page.run('document.querySelector(".row a").focus()')
        self.page.press('End')
        self.page.until('document.activeElement.innerText === "service-0999"')
        self.page.press('/')
        self.page.press(*'0500')
        self.page.until('document.querySelectorAll(".row").length === 1')
        self.assertEqual(self.rows(), ['service-0500'])
