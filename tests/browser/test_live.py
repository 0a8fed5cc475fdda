"""The stream: how old figures look, an engine that goes and comes back, pages that are not looked at."""

from case import PageCase
from fake_engine import SOURCES

HIDE = '''Object.defineProperty(document, "hidden", {configurable: true, get: () => arguments_hidden}); document.dispatchEvent(new Event("visibilitychange"));'''


class Stream(PageCase):
    quiet = False  # a refused connection is logged by the browser

    def test_figures_of_a_silent_engine_turn_amber_then_grey(self):
        engine = self.engine()
        page = self.service(engine)
        page.until('document.getElementById("live").dataset.state === "live"')
        engine.silent.set()
        page.until('document.getElementById("live").dataset.state === "late"')
        self.assertFalse(page.run('return document.body.classList.contains("stale")'))
        page.until('document.getElementById("live").dataset.state === "off"', 20)
        self.assertTrue(page.run('return document.body.classList.contains("stale")'))
        self.assertIn('reconnecting', page.text('#live'))
        engine.silent.clear()
        page.until('document.getElementById("live").dataset.state === "live" && !document.body.classList.contains("stale")', 20)

    def test_an_engine_that_was_gone_is_shown_again_and_nothing_twice(self):
        engine = self.engine()
        page = self.service(engine)
        page.wait_text('6 \u2192 7', '.events')
        before = page.run('return document.querySelectorAll(".events li").length')
        engine.close()
        page.until('document.getElementById("live").dataset.state === "late"')
        engine.open()
        page.until('document.getElementById("live").dataset.state === "live"', 20)
        page.until('document.querySelector(".sentence")?.innerText.includes("7 replicas")')
        self.assertEqual(page.run('return document.querySelectorAll(".events li").length'), before)
        self.assertEqual(len(engine.streams), 1)

    def test_a_service_that_is_removed_is_gone_at_once_and_shown_when_it_is_there_again(self):
        engine = self.engine()
        page = self.service(engine, 'api', token=True)
        page.until('document.querySelectorAll(".buttons button").length === 4')
        removed = engine.world.services['api']
        engine.remove('api')
        page.wait_text('There is no service api')
        self.assertEqual(page.run('return document.querySelectorAll(".buttons, .sentence, .charts, .pill:not(#edit)").length'), 0)
        self.assertTrue(page.run('return document.getElementById("record").hidden'))
        self.assertNotIn('api', self.rows())
        engine.world.services['api'] = removed
        engine.push('service', event='added', name='api')
        page.wait_text('are wanted')
        page.until('document.querySelectorAll(".buttons button").length === 4')
        page.until('document.querySelector(".charts canvas").clientWidth > 300')
        self.assertFalse(page.run('return document.getElementById("record").hidden'))
        self.assertNotIn('There is no service', page.text())

    def test_a_service_that_an_engine_lacks_after_its_restart_is_shown_as_none(self):
        engine = self.engine()
        page = self.service(engine, 'api')
        engine.close()
        del engine.world.services['api']
        engine.open()
        page.wait_text('There is no service api', seconds=25)

    def test_another_version_asks_for_the_page_to_be_loaded_again(self):
        engine = self.engine()
        page = self.show(engine, ready='staging-shop')
        engine.close()
        engine.world.version = '1.2.0'
        engine.open()
        page.wait_text('load this page again', seconds=20)

    def test_a_page_that_is_not_seen_has_no_stream(self):
        engine = self.engine()
        page = self.show(engine, ready='staging-shop')
        self.wait_streams(engine, 1)
        page.run(HIDE.replace('arguments_hidden', 'true'))
        self.wait_streams(engine, 0)
        page.run(HIDE.replace('arguments_hidden', 'false'))
        self.wait_streams(engine, 1)

    def wait_streams(self, engine, number):
        # A closed stream is noticed by the next event that is written to it.
        for _ in range(200):
            self.browser.run('return new Promise((done) => setTimeout(done, 50))')
            if len(engine.streams) == number:
                return
        self.fail(f'{len(engine.streams)} streams, not {number}')

    def test_a_paused_page_keeps_its_figures_and_continues(self):
        engine = self.engine()
        page = self.service(engine)
        page.click('#pause')
        shown = page.text('.replicas')
        engine.world.services['shop'].forced = 3
        page.run('return new Promise((done) => setTimeout(done, 1000))')
        self.assertEqual(page.text('.replicas'), shown)
        self.assertIn('paused', page.text('#live'))
        page.click('#pause')
        page.until('document.querySelectorAll(".replicas li").length === 3')

    def test_events_are_read_however_they_are_cut(self):
        page = self.show(self.engine(files=SOURCES))
        read = page.run('''const {EventText} = await import("./live.js");
            const text = 'id: 1\\nevent: a\\ndata: {"x":"y"}\\n\\n: beat\\n\\nevent: b\\r\\ndata:{}\\r\\n\\r\\ndata: 1\\n\\n';
            const ways = [];
            for (let size = 1; size <= text.length; size += 1) {
              const reader = new EventText();
              const all = [];
              for (let i = 0; i < text.length; i += size) all.push(...reader.feed(text.slice(i, i + size)));
              ways.push(JSON.stringify(all));
            }
            return [...new Set(ways)];''')
        self.assertEqual(read, ['[{"id":"1","type":"a","data":"{\\"x\\":\\"y\\"}"},{"id":"","type":"b","data":"{}"},{"id":"","type":"","data":"1"}]'])
