"""Places of the machine: what is where, what moves, why something waits; nothing of it without groups."""

import world
from case import PageCase


class Places(PageCase):
    def setUp(self):
        super().setUp()
        self.fake = self.engine()
        world.group(self.fake)

    def place(self, name):
        return self.browser.run('return [...document.querySelectorAll(".place")].find((place) => place.querySelector("h3").innerText === arguments[0])?.innerText ?? ""', name)

    def posts(self):
        return [path.removeprefix('/_sluice/api/v1/') for method, path in self.fake.seen if method == 'POST']

    def test_the_fleet_has_each_place_with_its_room_its_services_and_the_moves(self):
        page = self.show(self.fake, ready='staging-shop')
        page.wait_text('1 move under way')
        for text in ('12 of 12', '1.6 of 4 in use, 1.2 claimed', '768 MiB of 2.0 GiB claimed', 'shop 5, api 3'):
            self.assertIn(text, self.place('fast'))
        self.assertIn('no replica', self.place('spare'))
        page.wait_text('shop slow \u2192 fast', '.fleet-places')
        self.assertIn('cart fast \u2192 slow', page.text('.fleet-places'))
        page.until('[...document.querySelectorAll(".row .where")].some((cell) => cell.innerText === "fast 5, slow 2")')

    def test_without_groups_nothing_of_places_is_shown(self):
        self.fake.world.groups = []
        page = self.show(self.fake, ready='staging-shop')
        self.assertFalse(page.run('return [...document.querySelectorAll(".where, .fleet-places")].some((node) => node.checkVisibility())'))
        self.fake.world.services['shop'].shares = {}
        self.fake.world.services['shop'].explained = {}
        page = self.service(self.fake, token=True)
        page.wait_text('Why 7 now')
        self.assertNotIn('Places', page.text())
        self.assertNotIn('Move', page.text('.buttons'))

    def test_a_move_is_shown_while_it_runs_and_when_it_is_over(self):
        page = self.show(self.fake, ready='1 move under way')
        self.fake.push('move', **world.move(3, 'auth', 'fast', 'slow', self.fake.world.began, state='warming', cause='hand', started=0, drained=0))
        page.wait_text('2 moves under way')
        page.wait_text('warming: 0 of 2 started', '.fleet-places')
        done = world.move(3, 'auth', 'fast', 'slow', self.fake.world.began, over=True, done=True, state='done', cause='hand')
        self.fake.world.moves.insert(0, done)
        self.fake.world.services['auth'].shares = {'slow': 1}
        self.fake.push('move', **done)
        page.wait_text('2 replicas in 2 s, 0 requests cut; asked for')
        page.wait_text('1 move under way')
        page.until('[...document.querySelectorAll(".place")].find((place) => place.innerText.startsWith("\u25cf") && place.innerText.includes("slow")).innerText.includes("auth 1")')

    def test_a_service_has_its_places_why_not_others_and_that_it_moves(self):
        page = self.service(self.fake)
        page.wait_text('5 of 5 ready')
        for text in ('fast 5', 'slow 2', 'Its replicas move from slow to fast: shifting.', 'In slow and not in fast: fast has 12 of its 12 replicas', '00003-1 fast', '00003-7 slow'):
            page.wait_text(text)
        page.wait_text('slow \u2192 fast', '.events')
        self.fake.push('move', **world.move(2, 'shop', 'slow', 'fast', self.fake.world.began - 8, over=True, done=True, state='done', cause='home'))
        page.wait_text('2 replicas in 2 s, 0 requests cut; to a place that it likes more', '.events')
        self.assertEqual(page.text('.events').count('slow \u2192 fast'), 1)
        page.run('return new Promise((done) => setTimeout(done, 600))')
        self.assertIn('00003-7 slow', page.text('.replicas'))

    def test_a_service_that_waits_has_what_it_waits_for_and_when_it_is_asked_again(self):
        page = self.service(self.fake, 'images')
        page.wait_text('Room is being made in fast: cart -> slow (warming).')
        self.assertRegex(page.text('.waits'), r'Asked again at \d\d:\d\d:\d\d, or when a replica of fast ends\.')

    def test_the_view_of_memory_has_them_too(self):
        page = self.show(self.fake, '#/memory', ready='1 move under way')
        self.assertIn('768 MiB of 2.0 GiB claimed', self.place('fast'))

    def test_a_place_is_drained_and_opened_and_its_button_keeps_the_focus(self):
        page = self.show(self.fake, ready='1 move under way', token=True)
        page.until('document.querySelector(".place button")?.innerText === "Drain"')
        page.run('document.querySelector(".place button").focus()')
        self.fake.world.services['feed'].shares = {'fast': 2}
        page.wait_text('14 of 12')
        self.assertEqual(page.run('return document.activeElement.innerText'), 'Drain')
        page.press('Enter')
        page.wait_text('What has no room elsewhere stays', 'dialog')
        self.assertIn('sluice drain fast', page.text('dialog'))
        self.assertEqual(self.posts(), [])
        page.click('dialog .primary')
        page.until('document.querySelector(".place .pill")?.innerText === "draining"')
        page.wait_text('stays: api: pin: it may not be moved')
        self.choose('Open', '.place button')
        page.click('dialog .primary')
        page.until('!document.querySelector(".place .pill")')
        self.assertEqual(self.posts(), ['places/fast/drain', 'places/fast/undrain'])

    def test_a_service_is_moved_to_a_place_that_takes_replicas(self):
        self.fake.world.drained = {'spare'}
        page = self.service(self.fake, token=True)
        self.choose('Move', '.buttons button')
        page.until('document.querySelector("dialog[open]")')
        self.assertEqual(page.run('return [...document.querySelectorAll("#move-to option")].map((option) => option.innerText)'), ['fast: 12 of 12 replicas', 'slow: 7 of 40 replicas'])
        page.run('document.getElementById("move-to").value = "slow"')
        page.click('dialog .primary')
        page.until('!document.querySelector("dialog")')
        page.wait_text('7 of 7 ready')
        self.assertEqual(self.posts(), ['services/default/shop/move'])

    def test_keys_reach_the_services_of_a_place(self):
        page = self.show(self.fake, ready='1 move under way')
        page.until('document.querySelector(".place a")')
        page.run('document.querySelector(".skip").focus()')
        for _ in range(20):
            page.press('Tab')
            if page.run('return document.activeElement.closest(".place") !== null'):
                break
        self.assertEqual(page.run('return document.activeElement.getAttribute("href")'), '#/s/default/shop')
