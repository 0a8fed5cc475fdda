"""Every screen, its addresses, and what is shown where something is missing."""

import world
from case import PageCase
from fake_engine import SOURCES


class Unasked(world.Service):
    """Awake for half of the five minutes, without a request."""

    def brief(self, at, points=True):
        row = super().brief(at, points) | {'rps': 0, 'p50_ms': 0, 'p99_ms': 0}
        return row | ({'points': [None] * 30 + [0] * 30} if points else {})


class Fleet(PageCase):
    def test_trouble_is_first_and_each_state_has_a_word(self):
        page = self.show(self.engine(), ready='staging-shop')
        self.assertEqual(self.rows()[:5], ['mailer', 'shop', 'images', 'exports', 'api'])
        for word in ('failing', 'panic', 'memory', 'starting', 'awake', 'asleep'):
            self.assertIn(word, page.text('.rows'))

    def test_the_tiles_have_the_figures_of_the_engine(self):
        page = self.show(self.engine(), ready='1 failing')
        tiles = page.text('#tiles')
        for text in ('14', '22 / 25', 'shop, for', '80 %', '212 MiB', '1 failing'):
            self.assertIn(text, tiles)
        self.assertIn('shop-dev', page.text('#engine'))
        self.assertIn('1.1.0', page.text('#engine'))

    def test_a_service_without_requests_has_no_latency_and_its_line_begins_where_it_is_known(self):
        page = self.show(self.engine([Unasked('unasked', 'awake', 10)]), ready='unasked')
        self.assertEqual(page.text('.row .latency'), '\u2013')
        drawn = page.until("""(() => {
            const canvas = document.querySelector(".row canvas");
            if (!canvas?.width) return null;
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
            copy.drawImage(canvas, 0, 0);
            const {data} = copy.getImageData(0, 0, canvas.width, canvas.height);
            const columns = [...data.keys()].filter((i) => data[i] > 0).map((i) => Math.floor(i / 4) % canvas.width);
            return columns.length > 0 && [Math.min(...columns) / canvas.width, Math.max(...columns) / canvas.width];
        })()""")
        self.assertGreater(drawn[0], 0.45)
        self.assertGreater(drawn[1], 0.9)

    def test_filter_and_chips_choose_rows(self):
        page = self.show(self.engine(), ready='staging-shop')
        page.press('/')
        page.press(*'shop')
        page.until('document.querySelectorAll(".row").length === 2')
        self.assertEqual(self.rows(), ['shop', 'staging-shop'])
        page.press('Escape')
        page.until('document.querySelectorAll(".row").length === 14')
        page.click('.chip:nth-child(3)')
        page.until('document.querySelectorAll(".row").length === 3')

    def test_a_service_that_begins_and_one_that_goes_appear_and_leave(self):
        engine = self.engine()
        page = self.show(engine, ready='staging-shop')
        engine.push('fleet', rows=[world.Service('brand-new', 'awake', 10).brief(0, points=False)], gone=['default/docs'])
        page.wait_text('brand-new')
        self.assertNotIn('docs', self.rows())


class Service(PageCase):
    def test_a_service_has_a_sentence_with_its_replicas_and_the_reason(self):
        page = self.service(self.engine())
        page.wait_text('7 replicas are wanted and 7 are ready')
        sentence = page.text('.sentence')
        for text in ('requests ran or waited at once over the last 6 s', 'meant to carry 7.0', 'Panic began at', 'twice'):
            self.assertIn(text, sentence)
        self.assertIn('panic for', page.text('.headline .pill'))

    def test_the_cards_have_numbers_rules_callers_starts_and_replicas(self):
        page = self.service(self.engine())
        page.wait_text('Why 7 now')
        for text in ('over 60 s', 'over 6 s', 'growth', 'bounds', 'GET /health', 'May fall after', '417 ms', 'Most of the newest is start', '00003-4', 'is held at 0.1 of a core'):
            page.wait_text(text)

    def test_charts_draw_lines_bands_marks_and_a_heat_map(self):
        page = self.service(self.engine())
        page.wait_text('cold start 417 ms')
        colours = page.run('''return [...document.querySelectorAll(".plot canvas")].map((canvas) => {
            const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            const seen = new Set();
            for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 200) seen.add(`${data[i] >> 5} ${data[i + 1] >> 5} ${data[i + 2] >> 5}`);
            return seen.size; })''')
        self.assertEqual(len(colours), 4)
        self.assertTrue(all(count >= 4 for count in colours), colours)

    def test_a_time_in_the_address_shows_the_decision_of_that_time(self):
        engine = self.engine()
        page = self.service(engine, query=f'?at={world.rfc3339(engine.world.began - 36)}')
        page.wait_text('Looking at')
        page.wait_text('Why 5 at')
        self.assertIn('ceil(29.8 / 7.0) = 5', page.text('.formula'))
        self.assertEqual(page.run('return document.querySelectorAll("[data-chosen] .pick").length'), 1)

    def test_a_range_in_the_address_is_asked_of_the_engine(self):
        engine = self.engine()
        page = self.service(engine, query='?range=1h')
        page.until('document.querySelector("[data-range=\'1h\']").getAttribute("aria-pressed") === "true"')
        self.assertTrue(any('since=1h&step=10s' in path for _, path in engine.seen))
        page.click('[data-range="6h"]')
        page.until('location.hash.includes("range=6h")')

    def test_a_sleeping_service_has_a_sentence_on_what_wakes_it(self):
        self.service(self.engine(), 'docs').wait_text('The next request wakes it')

    def test_a_failing_service_has_its_cause_its_last_lines_and_the_next_try(self):
        engine = self.engine()
        page = self.service(engine, 'mailer')
        page.wait_text('No replica starts')
        page.wait_text('ValueError: no database', '.failure pre')
        engine.push('replica', service='mailer', id='mailer-00003-1', state='exited', exit_code=1, retry_in_ms=30000, why='it ended with exit code 1')
        page.wait_text('The next start is tried in', '.failure')

    def test_events_appear_at_once_and_each_once(self):
        engine = self.engine()
        page = self.service(engine)
        page.wait_text('6 \u2192 7', '.events')
        engine.push('warning', service='shop', detail='the disk is nearly full')
        engine.push('warning', service='other', detail='of another service')
        page.wait_text('the disk is nearly full', '.events')
        self.assertEqual(page.text('.events').count('the disk is nearly full'), 1)
        self.assertNotIn('of another service', page.text('.events'))


    def test_the_values_of_a_chosen_decision_are_those_that_it_saw(self):
        engine = self.engine()
        page = self.service(engine, query=f'?at={world.rfc3339(engine.world.began - 36)}')
        page.wait_text('Why 5 at')
        page.until('[...document.querySelectorAll(".legend")].some((each) => each.innerText.replaceAll("\\n", "") === "wanted5")')

    def test_before_the_first_decision_no_rule_has_decided(self):
        engine = self.engine()
        engine.world.services['shop'].explained = {'valid': False, 'desired': -1, 'time': '1970-01-01T00:00:00Z', 'why': 'no data yet; 2 kept'}
        engine.world.services['shop'].history = lambda since: []
        page = self.service(engine)
        page.wait_text('No decision yet: no data yet; 2 kept')
        self.assertNotIn('at once over the last', page.text('.sentence'))

    def test_the_cause_of_a_failure_is_not_repeated_as_a_formula(self):
        page = self.service(self.engine(), 'mailer')
        page.wait_text('Why 1 now')
        self.assertEqual(page.run('return document.querySelectorAll(".formula").length'), 0)
        self.service(self.engine()).wait_text('ceil(', '.formula')

    def test_a_service_short_of_memory_is_called_so_as_in_the_list(self):
        self.service(self.engine(), 'images').wait_text('memory', '.headline .pill')

    def test_the_first_decision_of_a_range_has_its_number_alone(self):
        page = self.service(self.engine())
        page.wait_text('2 replicas', '.events')
        self.assertNotIn('\n\u2192', page.text('.events'))

    def test_a_service_that_only_lacks_room_has_the_reason_and_no_last_lines(self):
        engine = self.engine()
        images = engine.world.services['images']
        images.status = lambda at: {**world.Service.status(images, at), 'not_ready': [{'revision': 'images-00003', 'state': 'short', 'cause': 'no_room', 'why': 'fast is full: 3 of 3 replicas'}]}
        page = self.service(engine, 'images')
        page.wait_text('fast is full: 3 of 3 replicas', '.failure')
        self.assertEqual(page.run('return document.querySelector(".failure h2").innerText'), 'What is amiss')
        self.assertFalse(any('/logs' in path for _, path in engine.seen))


class Unpacked(PageCase):
    def test_each_module_imports_what_it_uses(self):
        for address, ready in (('#/', 'staging-shop'), ('#/s/default/shop', 'Why 7 now'), ('#/s/default/mailer', 'No replica starts'), ('#/memory', 'Kept in reserve')):
            engine = self.engine(files=SOURCES)
            world.group(engine)
            self.show(engine, address, ready=ready, token=True)
            self.browser.wait_text('Drain' if 'default' not in address else 'Move')


class Missing(PageCase):
    quiet = False  # an answer 404 is logged by the browser

    def test_a_service_that_is_not_there_is_named(self):
        self.show(self.engine(), '#/s/default/gone', ready='There is no service gone')

    def test_an_engine_without_services_has_commands_to_type(self):
        self.show(self.engine([]), ready='sluice up --')

    def test_an_older_engine_is_named_and_its_services_are_listed(self):
        engine = self.engine()
        engine.without |= {'overview', 'live'}
        page = self.show(engine, ready='older than the page')
        page.wait_text('staging-shop')

    def test_an_address_that_means_nothing_shows_the_services(self):
        for address in ('#/s/%E0%A4%A/x', '#/s/default', '#//', '#/memory/x/y', '#/s/a/b/c?range=__proto__&at=yesterday'):
            self.show(self.engine(), address, ready='live')
            self.assertTrue(self.browser.run('return document.getElementById("main").childElementCount > 0'))


class Memory(PageCase):
    def test_the_machine_has_its_figures_and_each_throttled_replica_its_sentence(self):
        page = self.show(self.engine(), '#/memory', ready='Kept in reserve')
        for text in ('7.6 GiB', '212 MiB', '3 MiB/s', 'pressure high', 'shop-00003-4 is held at 0.1 of a core'):
            self.assertIn(text, page.text('main'))

    def test_the_tile_of_memory_has_the_pressure_and_what_a_new_replica_may_have(self):
        engine = self.engine()
        page = self.show(engine, ready='staging-shop')
        for text in ('pressure high', 'room for 212 MiB more'):
            page.wait_text(text, '.tile[data-high]')

    def test_a_cluster_has_its_nodes_and_silent_ones_first(self):
        engine = self.engine(form='cluster', name='prod')
        node = {'name': 'node-1', 'pressure': 'ok', 'silent': False, 'heard': '2026-11-20T14:03:12Z', 'capacity_bytes': 8 * world.GIB, 'used_bytes': 5 * world.GIB, 'reserve_bytes': world.GIB,
                'admit_bytes': 2 * world.GIB, 'throttled_containers': 1, 'throttled': [{'namespace': 'default', 'pod': 'shop-1', 'container': 'user', 'quota_us': 10000, 'period_us': 100000}]}
        engine.world.nodes = [node, {**node, 'name': 'node-2', 'silent': True, 'throttled': []}]
        page = self.show(engine, '#/memory', ready='node-2')
        self.assertLess(page.text('.nodes').index('node-2'), page.text('.nodes').index('node-1'))
        self.assertIn('silent', page.text('.nodes'))
        self.assertIn('0.1 of a core', page.text('main'))
