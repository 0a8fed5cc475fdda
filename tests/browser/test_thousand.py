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
        for _ in range(100):
            self.page.run('return new Promise((done) => setTimeout(done, 50))')
            asked = [path for _, path in self.fake.seen if 'rows=' in path]
            if asked:
                break
        names = urllib.parse.parse_qs(urllib.parse.urlsplit(asked[-1]).query)['rows'][0].split(',')
        self.assertIn(f'default/{self.rows()[10]}', names)
        self.assertLessEqual(len(names), 60)

    def test_keys_reach_the_last_row_and_the_filter_any(self):
        self.page.run('document.querySelector(".row a").focus()')
        self.page.press('End')
        self.page.until('document.activeElement.innerText === "service-0999"')
        self.page.press('/')
        self.page.press(*'0500')
        self.page.until('document.querySelectorAll(".row").length === 1')
        self.assertEqual(self.rows(), ['service-0500'])
