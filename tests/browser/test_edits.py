"""Changes: said first, sent with the token, refused in words."""

from case import PageCase
from fake_engine import TOKEN

BUTTONS = '[...document.querySelectorAll(".buttons button")].map((button) => button.innerText)'


class Edits(PageCase):
    def press(self, name):
        self.choose(name, '.buttons button')
        self.browser.until('document.querySelector("dialog[open]")')

    def posts(self, engine):
        return [path.removeprefix('/_sluice/api/v1/services/default/') for method, path in engine.seen if method == 'POST']

    def test_without_a_token_nothing_can_be_changed(self):
        page = self.service(self.engine())
        self.assertEqual(page.run(f'return {BUTTONS}'), [])
        self.assertEqual(page.text('#edit'), 'edits need a token')

    def test_the_token_leaves_the_address_and_is_stored_nowhere(self):
        page = self.service(self.engine(), token=True)
        page.until(f'{BUTTONS}.length === 4')
        self.assertEqual(page.run('return location.hash'), '#/s/default/shop')
        self.assertEqual(page.run('return JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])'), '[{},{},""]')
        self.assertNotIn(TOKEN, page.run('return document.documentElement.outerHTML'))

    def test_a_token_can_be_typed(self):
        page = self.service(self.engine())
        page.click('#edit')
        page.type('#token', 'short')
        page.press('Enter')
        page.wait_text('That is no token', 'dialog')
        page.run('document.getElementById("token").value = ""')
        page.type('#token', f'Sluice-Edit: {TOKEN}')
        page.press('Enter')
        page.until(f'{BUTTONS}.length === 4')

    def test_wake_and_sleep_have_their_effect_in_words_and_then_in_the_service(self):
        engine = self.engine()
        page = self.service(engine, 'docs', token=True)
        page.until(f'{BUTTONS}.length === 4')
        self.press('Wake')
        self.assertIn('Starts one replica now', page.text('dialog'))
        self.assertIn('sluice wake docs', page.text('dialog'))
        self.assertEqual(self.posts(engine), [])
        page.click('dialog .primary')
        page.wait_text('1 replica is wanted and it is ready')
        self.press('Sleep')
        self.assertIn('1 replica ends', page.text('dialog'))
        page.click('dialog .primary')
        page.wait_text('Asleep: no replica runs')
        self.assertEqual(self.posts(engine), ['docs/wake', 'docs/sleep'])

    def test_bounds_have_their_effect_in_words_and_refuse_what_cannot_be(self):
        engine = self.engine()
        page = self.service(engine, 'docs', token=True)
        page.until(f'{BUTTONS}.length === 4')
        self.press('Bounds')
        self.enter('bound-min', '50')
        page.click('dialog .primary')
        self.assertEqual(self.posts(engine), [])
        self.enter('bound-min', '2')
        self.assertIn('At least 2 replicas run from now on', page.text('dialog'))
        self.assertIn('2 replicas start now', page.text('dialog'))
        page.click('dialog .primary')
        page.wait_text('2 replicas are wanted and 2 are ready')
        self.assertEqual(engine.world.services['docs'].bounds, [2, 40])

    def traffic(self, engine, name='shop'):
        page = self.service(engine, name, token=True)
        self.press('Traffic')
        return page

    def test_traffic_is_divided_among_revisions_and_the_parts_are_a_hundred(self):
        engine = self.engine()
        page = self.traffic(engine)
        self.assertIn('shop-00003 latest', page.text('dialog'))
        self.enter('traffic-0', '90')
        page.wait_text('The parts are 90 % together', 'dialog')
        page.click('dialog .primary')
        self.assertEqual(self.posts(engine), [])
        self.enter('traffic-1', '10')
        self.assertIn('shop-00002 starts replicas', page.text('dialog'))
        self.assertIn('sluice traffic shop @latest=90,shop-00002=10', page.text('dialog'))
        page.click('dialog .primary')
        page.until('!document.querySelector("dialog")')
        self.assertEqual(engine.world.services['shop'].percents, {'@latest': 90, 'shop-00002': 10})
        self.press('Traffic')
        self.enter('traffic-1', '0')
        self.enter('traffic-0', '100')
        page.wait_text('shop-00002 gets no more and drains', 'dialog')

    def test_the_part_of_the_latest_revision_can_stay_with_it(self):
        engine = self.engine()
        page = self.traffic(engine)
        page.click('#traffic-pin')
        self.assertIn('sluice traffic shop shop-00003=100', page.text('dialog'))
        page.click('dialog .primary')
        page.until('!document.querySelector("dialog")')
        self.assertEqual(engine.world.services['shop'].percents, {'shop-00003': 100})

    def test_the_only_revision_has_all_traffic_and_a_cluster_none_to_divide(self):
        engine = self.engine()
        engine.world.services['shop'].revisions = lambda: [{'revision': 'shop-00003', 'latest': True, 'state': 'awake', 'percent': 100}]
        page = self.traffic(engine)
        self.assertIn('All requests go to the only revision', page.text('dialog'))
        self.assertEqual(page.run('return document.querySelectorAll("dialog input").length'), 0)
        page = self.service(self.engine(form='cluster'), token=True)
        page.until(f'{BUTTONS}.length === 3')


class Locked(PageCase):
    """An engine that answers other hosts, and then nothing without the token."""

    quiet = False  # an answer 403 is logged by the browser

    def setUp(self):
        super().setUp()
        self.fake = self.engine()
        self.fake.locked = True

    def test_the_page_asks_for_the_token_and_shows_everything_with_it(self):
        page = self.show(self.fake, '#/s/default/shop', ready='shows nothing without')
        page.wait_text('answers other hosts', 'dialog')
        self.assertNotIn('older than the page', page.text())
        self.enter_token('f' * 32)
        page.wait_text('another token', '#notice')
        page.until('document.querySelectorAll("dialog").length === 1 && document.getElementById("token").value === ""')
        self.enter_token(TOKEN)
        page.wait_text('7 replicas are wanted')
        page.until('document.getElementById("live").dataset.state === "live" && document.getElementById("notice").hidden')
        self.assertEqual(page.run('return document.querySelectorAll("dialog").length'), 0)
        self.assertNotIn(TOKEN, page.run('return document.documentElement.outerHTML'))

    def test_a_closed_dialog_stays_closed_and_is_behind_the_button_of_changes(self):
        page = self.show(self.fake, ready='shows nothing without')
        page.press('Escape')
        page.until('!document.querySelector("dialog")')
        before = len(self.fake.seen)
        page.run('return new Promise((done) => setTimeout(done, 2500))')
        self.assertGreater(len(self.fake.seen), before)  # it goes on asking
        self.assertEqual(page.run('return document.querySelectorAll("dialog").length'), 0)
        page.click('#edit')
        self.enter_token(TOKEN)
        page.wait_text('staging-shop')

    def test_the_token_in_the_address_opens_the_page(self):
        page = self.service(self.fake, token=True)
        page.wait_text('7 replicas are wanted')
        self.assertEqual(page.run('return document.querySelectorAll("dialog").length'), 0)

    def test_an_engine_that_began_again_asks_for_its_new_token(self):
        self.fake.locked = False
        page = self.show(self.fake, ready='staging-shop', token=True)
        self.fake.close()
        self.fake.locked, self.fake.token = True, 'f' * 32
        self.fake.open()
        page.wait_text('another token', '#notice', 20)
        self.enter_token('f' * 32)
        page.until('document.getElementById("live").dataset.state === "live" && document.getElementById("notice").hidden')


class Refused(PageCase):
    quiet = False  # an answer 403 is logged by the browser

    def test_a_wrong_token_is_dropped_and_the_right_one_can_be_given(self):
        page = self.show(self.engine(), f'#/s/default/docs?token={"f" * 32}', ready='Asleep')
        self.choose('Wake', '.buttons button')
        page.click('dialog .primary')
        page.wait_text('The token is wrong, or of an earlier start (cancel, choose \u201cwrong token\u201d above and give the new one)', 'dialog')
        self.choose('Cancel', 'dialog button')
        page.wait_text('wrong token', '#edit')
        page.until(f'{BUTTONS}.length === 0')
        self.assertIn('Asleep', page.text('.sentence'))
        page.click('#edit')
        self.enter_token(TOKEN)
        page.wait_text('edits allowed', '#edit')
        self.choose('Wake', '.buttons button')
        page.click('dialog .primary')
        page.wait_text('1 replica is wanted and it is ready')

    def test_the_token_ends_with_the_start_of_the_engine_that_made_it(self):
        fake = self.engine()
        page = self.service(fake, token=True)
        page.until(f'{BUTTONS}.length === 4')
        fake.close()
        fake.token = 'f' * 32
        fake.open()
        page.wait_text('wrong token', '#edit', 20)
        page.until(f'{BUTTONS}.length === 0')
        page.click('#edit')
        self.enter_token('f' * 32)
        page.until(f'{BUTTONS}.length === 4')

    def test_the_token_of_a_cluster_outlives_a_start(self):
        fake = self.engine(form='cluster')
        page = self.service(fake, token=True)
        page.until(f'{BUTTONS}.length === 3')
        fake.close()
        fake.world.version = '1.2.0'
        fake.open()
        page.wait_text('load this page again', seconds=20)
        page.wait_text('1.2.0', '#engine')
        self.assertEqual(page.text('#edit'), 'edits allowed')

    def test_a_text_that_is_no_token_leaves_the_one_that_was_given(self):
        page = self.service(self.engine(), token=True)
        page.click('#edit')
        self.enter_token('short')
        page.wait_text('That is no token', 'dialog')
        self.choose('Cancel', 'dialog button')
        page.run('return new Promise((done) => setTimeout(done, 1200))')
        self.assertEqual(page.text('#edit'), 'edits allowed')
