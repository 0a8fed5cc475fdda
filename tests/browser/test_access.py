"""For everyone: keys alone, small windows, large letters, both themes, what axe finds."""

import axe
import world
from case import PageCase

SCREENS = {'#/': 'mailer', '#/s/default/shop': 'Why 7 now', '#/s/default/mailer': 'No replica starts', '#/memory': 'Kept in reserve'}

WIDE = '''[...document.querySelectorAll("body *")].filter((node) => !node.closest(".unseen, .cell > span, .scroll-x, .values, .plot, .times, dialog, .skip")
    && node.getBoundingClientRect().right > innerWidth + 1).map((node) => node.tagName + "." + node.className)'''


def grouped(engine):
    world.group(engine)
    return engine


class Keys(PageCase):
    def test_from_the_list_to_a_service_and_back_by_keys(self):
        page = self.show(self.engine(), ready='staging-shop')
        page.run('document.querySelector(".row a").focus()')
        page.press('ArrowDown', 'ArrowDown')
        self.assertEqual(page.run('return document.activeElement.innerText'), 'images')
        page.press('ArrowUp', 'Enter')
        page.until('location.hash === "#/s/default/shop"')
        page.wait_text('Why 7 now')
        page.press('Escape')
        page.until('location.hash === "#/"')
        page.press('m')
        page.until('location.hash === "#/memory"')

    def test_arrows_go_from_decision_to_decision_and_the_cursor_follows(self):
        page = self.service(self.engine())
        page.wait_text('Why 7 now')
        page.press('ArrowLeft', 'ArrowLeft')
        page.wait_text('Why 6 at')
        self.assertEqual(page.run('return [...document.querySelectorAll(".cursor")].map((cursor) => cursor.hidden)'), [False] * 4)
        self.assertIn('at=', page.run('return location.hash'))
        page.press('ArrowRight')
        page.wait_text('Why 7 at')
        page.press('Escape')
        page.wait_text('Why 7 now')

    def test_the_values_of_the_charts_are_a_table(self):
        page = self.service(self.engine())
        page.wait_text('Why 7 now')
        page.press('t')
        page.until('document.querySelectorAll(".values tbody tr").length > 20')
        self.assertIn('stable window', page.text('.values thead'))
        page.press('t')
        page.until('document.querySelector(".values").hidden')

    def test_each_chart_has_a_summary_in_words(self):
        page = self.service(self.engine())
        page.until('document.querySelector(".plot").getAttribute("aria-label")')
        labels = page.run('return [...document.querySelectorAll(".plot")].map((plot) => plot.getAttribute("aria-label"))')
        self.assertEqual([label.split(':')[0] for label in labels], ['Load', 'Replicas', 'Requests per second', 'Latency'])
        self.assertRegex(labels[1], r'wanted 7, at most 7')

    def test_the_keys_are_listed_and_the_dialog_closes(self):
        page = self.show(self.engine(), ready='staging-shop')
        page.press('?')
        page.wait_text('from decision to decision', 'dialog')
        page.press('Escape')
        page.until('!document.querySelector("dialog")')

    def test_the_first_key_skips_to_the_content(self):
        page = self.show(self.engine(), ready='staging-shop')
        page.press('Tab')
        self.assertEqual(page.run('return document.activeElement.innerText'), 'Skip to the content')

    def test_a_change_of_state_is_spoken(self):
        engine = self.engine()
        page = self.service(engine)
        engine.push('decision', service='shop', granted=9, mode='panic', revision='shop-00003')
        page.wait_text('shop: 9 replicas, panic', '#spoken')


class Look(PageCase):
    def test_nothing_is_wider_than_a_small_window(self):
        for address, ready in SCREENS.items():
            page = self.show(grouped(self.engine()), address, ready=ready)
            for width, scale in ((320, 1), (640, 2), (1024, 1)):
                with self.subTest(address=address, width=width):
                    page.size(width, 800, scale)
                    self.assertEqual(page.run(f'return new Promise((done) => requestAnimationFrame(() => setTimeout(() => done({WIDE}), 0)))'), [])

    def test_a_node_with_a_long_name_has_its_state_in_a_small_window(self):
        engine = self.engine(form='cluster')
        engine.world.nodes = [{'name': 'ip-10-24-112-9.eu-central-1.compute.internal', 'pressure': 'ok', 'silent': True, 'heard': '2026-11-20T14:03:12Z', 'capacity_bytes': 8 * world.GIB,
                               'used_bytes': 5 * world.GIB, 'reserve_bytes': world.GIB, 'admit_bytes': 2 * world.GIB, 'throttled_containers': 1}]
        self.browser.size(320, 800)
        page = self.show(engine, '#/memory', ready='silent')
        cells = page.run('return [...document.querySelectorAll(".nodes tbody :is(td, th)")].map((cell) => [cell.dataset.head ?? "", cell.getBoundingClientRect().right <= innerWidth])')
        self.assertEqual(cells, [[name, True] for name in ('', 'State', 'Used', 'A new replica may have', 'Throttled')])

    def test_a_page_ends_with_its_last_card_however_much_happened(self):
        engine = self.engine()
        page = self.service(engine)
        for i in range(60):
            engine.push('warning', service='shop', detail=f'no. {i}')
        page.wait_text('no. 59', '.events')
        page.until('document.documentElement.scrollHeight <= document.querySelector("main").getBoundingClientRect().bottom + scrollY + 40')

    def test_a_chosen_theme_stays_and_the_charts_follow(self):
        page = self.service(self.engine())
        colour = 'return getComputedStyle(document.body).backgroundColor'
        light = page.run(colour)
        page.click('#theme')
        page.click('#theme')
        self.assertNotEqual(page.run(colour), light)
        page.open(page.run('return location.href'))
        page.until('document.documentElement.dataset.theme === "dark"')
        page.run('localStorage.clear()')

    def test_times_are_local_with_utc_on_hover(self):
        page = self.service(self.engine())
        page.wait_text('6 \u2192 7', '.events')
        self.assertRegex(page.run('return document.querySelector(".events time").title'), r'^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$')


class Axe(PageCase):
    def test_axe_finds_nothing_serious(self):
        source = axe.source()
        for address, ready in SCREENS.items():
            page = self.show(grouped(self.engine()), address, ready=ready, token=True)
            for theme in ('light', 'dark'):
                self.browser.media(prefers_color_scheme=theme)
                with self.subTest(address=address, theme=theme):
                    found = page.run(source + '''; const result = await axe.run(document, {resultTypes: ["violations"]});
                        return result.violations.filter((each) => ["serious", "critical"].includes(each.impact))
                          .map((each) => [each.id, each.nodes.length, each.nodes[0].html.slice(0, 200), each.nodes[0].failureSummary.slice(0, 300)]);''')
                    self.assertEqual(found, [])
