"""Texts that others wrote: visible, harmless, short."""

import world
from case import PageCase

MARKUP = '<img src=x onerror="document.title=\'broken\'"><script>document.title="broken"</script>'
TURNED = 'safe\u202egpj.exe\u0000\u200b\U0001f600'
LONG = 'x' * 100000
BAD_URL = 'javascript:document.title="broken"'


class Hostile(PageCase):
    def setUp(self):
        super().setUp()
        shop = world.Service('shop', 'shop')
        failing = world.Service('mailer', 'failing', 0, MARKUP)
        self.fake = self.engine([shop, failing, world.Service('turned', 'failing', 0, TURNED), world.Service('long', 'failing', 0, LONG)], name=MARKUP)
        self.fake.log = [MARKUP, TURNED, LONG]
        self.fake.world.version = MARKUP

    def check(self, *texts):
        for text in texts:
            self.browser.wait_text(text)
        self.assertNotEqual(self.browser.run('return document.title'), 'broken')
        self.assertEqual(self.browser.run('return document.querySelectorAll("main img, main script, #engine img").length'), 0)
        self.assertEqual(self.browser.run('return [...document.querySelectorAll("a")].filter((link) => !/^https?:/.test(link.href)).length'), 0)
        longest = self.browser.run('''const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            let most = 0;
            while (walk.nextNode()) most = Math.max(most, walk.currentNode.data.length);
            return most;''')
        self.assertLessEqual(longest, 3 * 200 + 20)  # the last lines of a log are one text
        self.assertLessEqual(self.browser.run('return document.documentElement.scrollWidth'), self.browser.run('return innerWidth'))

    def test_markup_and_direction_characters_in_the_list_are_text(self):
        self.show(self.fake, ready='turned')
        self.check('<img src=x onerror', 'safe\u27e8U+202E\u27e9gpj.exe\u2400\u27e8U+200B\u27e9\U0001f600')

    def test_what_a_failing_program_printed_is_text(self):
        self.service(self.fake, 'mailer')
        self.check('<script>document.title', '\u27e8U+202E\u27e9', 'xxx\u2026')

    def test_events_of_any_shape_are_text_or_left_out(self):
        page = self.service(self.fake)
        self.fake.push('warning', service='shop', detail=MARKUP)
        self.fake.push('error', service='shop', detail=TURNED)
        self.fake.push('__proto__', service='shop', detail='of an unknown type')
        self.fake.push('decision', service='shop', granted='<b>9</b>', why=MARKUP, mode='constructor', revision=MARKUP)
        self.fake.push('replica', service='shop', id=MARKUP, state='exited', why=LONG)
        page.wait_text('of an unknown type')
        self.check('<img src=x onerror')

    def test_an_address_of_another_scheme_is_no_link(self):
        self.fake.world.services['shop'].status = lambda at: {**world.Service.status(self.fake.world.services['shop'], at), 'url': BAD_URL}
        self.service(self.fake)
        self.check(BAD_URL)

    def test_what_is_no_escaped_text_in_the_address_is_passed_over(self):
        for address, ready in (('#/s/default/shop?token=%ff%zz', 'are wanted'), ('#token=%', 'turned'), ('#/?token=%E0%A4%A', 'turned'), ('#/s/default/shop?range=%zz&at=%', 'are wanted')):
            with self.subTest(address=address):
                page = self.show(self.fake, address, ready)
                page.until('document.getElementById("live").dataset.state === "live"')
                self.assertEqual(page.text('#edit'), 'edits need a token')
                self.assertNotIn('token', page.run('return location.hash'))
                self.assertEqual(page.console(), [])

    def test_markup_in_the_address_of_the_page_is_text(self):
        self.quiet = False
        self.show(self.fake, '#/s/default/%3Cimg%20src=x%20onerror=document.title=%22broken%22%3E', ready='There is no service')
        self.check('<img src=x')
