"""The page of `sluice load --html` of a real run, opened from disk: every panel, keys, paper, hostile texts, what axe-core finds."""

import base64
import json
import os
import pathlib
import sys
import tempfile
import unittest

import axe
from case import PageCase

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / 'integration'))

from engine import APP, Engine, Home  # noqa: E402

MARKUP = '<img src=x onerror=alert(1)></script><script>alert(2)</script>\u202e'
PANELS = ('Latency', 'Requests per second', 'Replicas', 'Concurrency')
PAPER_PAGES = 3
RUN_SECONDS = 240
PLAN = '''name: step-up
seed: 7
defaults: {{headers: {{Host: app.localhost}}}}
targets:
  app: {{url: "http://{door}/?ms=110"}}
  shop: {{url: "http://{door}/?ms=60&q=<script>alert(1)</script>"}}
phases:
  - {{name: baseline, for: 3s, rate: 8}}
  - {{name: plateau, for: 7s, rate: 90, mix: {{app: 3, shop: 1}}}}
  - {{name: quiet, for: 2s, rate: 0}}
assert:
  - p99 < 1ms
  - errors == 0
  - time_to_zero < 60s
  - generator == late
'''


class Report(PageCase):
    """One run of a service that sleeps, starts and grows is read by all tests."""

    @classmethod
    def setUpClass(cls):
        if 'SLUICE_BIN' not in os.environ:
            raise unittest.SkipTest('no programs were given')
        super().setUpClass()
        cls.home = Home()
        cls.addClassCleanup(cls.home.close)
        engine = Engine(cls.home, '--target', '3', '--window', '6s', '--', 'python3', APP)
        cls.addClassCleanup(engine.kill)
        plan = cls.home.path / 'plan.yaml'
        plan.write_text(PLAN.format(door=engine.http))
        cls.page = cls.home.path / 'report.html'
        cls.json = cls.home.path / 'report.json'
        cls.done = cls.home.run('load', '--file', str(plan), '--html', str(cls.page), '--json', str(cls.json), timeout=RUN_SECONDS)
        engine.kill()

    def setUp(self):
        super().setUp()
        self.assertEqual(self.done.returncode, 4, self.done.stderr + self.done.stdout)

    def open_report(self, path=None):
        self.browser.open((path or self.page).as_uri())
        self.browser.until('document.querySelector(".verdict")')
        return self.browser

    def edited(self, change):
        """The page of a report that `change` has changed."""
        before, _, rest = self.page.read_text().partition('<script type="application/json" id="data">')
        data, end = rest.split('</script>', 1)
        runs = json.loads(data)
        change(runs)
        file = tempfile.NamedTemporaryFile('w', suffix='.html')
        self.addCleanup(file.close)
        file.write(before + '<script type="application/json" id="data">' + json.dumps(runs).replace('<', '\\u003c') + '</script>' + end)
        file.flush()
        return pathlib.Path(file.name)

    def test_the_verdict_names_what_failed_and_its_value(self):
        page = self.open_report()
        self.assertIn('Failed: ', page.text('.verdict'))
        self.assertIn('p99 is ', page.text('.verdict'))
        self.assertIn('less than 1ms is asserted', page.text('.verdict'))
        self.assertIn('exit status 4', page.text('.verdict'))
        first = page.text('section[aria-label=Assertions] tbody tr')
        self.assertIn('fails', first)
        self.assertEqual(page.text('h1'), 'step-up')

    def test_every_panel_is_drawn_on_one_axis(self):
        page = self.open_report()
        for panel in PANELS:
            drawn = page.run('const canvas = document.querySelector(`[data-panel="${arguments[0]}"] canvas`); '
                             'const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data; '
                             'return new Set(new Uint32Array(data.buffer)).size', panel)
            self.assertGreater(drawn, 4, panel)
        widths = page.run('return [...new Set([...document.querySelectorAll(".panel canvas")].map((canvas) => canvas.width))]')
        self.assertEqual(len(widths), 1)
        self.assertEqual(page.run('return [...document.querySelectorAll(".strip span")].map((part) => part.innerText)'), ['baseline', 'plateau', 'quiet'])
        self.assertIn('cold start', page.text('[data-panel=Latency]'))

    def test_its_figures_are_those_of_the_json_report(self):
        page = self.open_report()
        report = json.loads(self.json.read_text())
        figures = page.run('return Object.fromEntries([...document.querySelectorAll(".key-figures > div")].map((part) => [part.children[0].innerText, part.children[1].innerText]))')
        self.assertEqual(int(''.join(filter(str.isdigit, figures['sent']))), report['requests']['sent'])
        self.assertEqual(int(figures['cold starts']), report['scaling']['cold_start_count'])
        self.assertIn(str(report['scaling']['replicas_max']), figures['replicas'])
        rows = page.run('return [...document.querySelectorAll("section[aria-label=Phases] tbody tr")].map((row) => row.cells[2].innerText)')
        self.assertEqual([int(''.join(filter(str.isdigit, row))) for row in rows], [phase['requests']['sent'] for phase in report['phases']])
        sent = page.run('return JSON.parse(document.getElementById("data").textContent).runs[0].seconds.reduce((sum, row) => sum + row.sent, 0)')
        self.assertEqual(sent, report['requests']['sent'])

    def test_arrow_keys_step_through_decisions_and_show_the_values(self):
        page = self.open_report()
        decisions = json.loads(self.json.read_text())['scaling']['decisions']
        page.press('ArrowRight')
        page.wait_text(decisions[0]['why'], '.formula')
        page.press('ArrowRight')
        page.wait_text(decisions[1]['why'], '.formula')
        page.press('ArrowLeft')
        page.wait_text(decisions[0]['why'], '.formula')
        page.press('t')
        page.until('document.querySelectorAll(".values tbody tr").length > 8')
        page.press('Escape')
        page.until('document.querySelector(".values").hidden && document.querySelector(".formula").hidden')

    def test_it_prints_on_three_pages_with_its_charts_whole(self):
        page = self.open_report()
        paper = base64.b64decode(page.devtools('Page.printToPDF', printBackground=True, preferCSSPageSize=True)['data'])
        self.assertLessEqual(paper.count(b'/Type /Page\n'), PAPER_PAGES)
        self.assertGreater(paper.count(b'/Type /Page\n'), 0)
        page.run('dispatchEvent(new Event("beforeprint"))')
        self.assertLessEqual(page.run('return document.documentElement.scrollWidth - innerWidth'), 0)
        widths = page.run('const paper = document.querySelector(".report").clientWidth; return [...document.querySelectorAll(".panel canvas")].map((canvas) => canvas.clientWidth <= paper)')
        self.assertTrue(all(widths))
        page.run('dispatchEvent(new Event("afterprint"))')
        self.assertFalse(page.run('return document.documentElement.classList.contains("paper")'))

    def test_it_is_read_without_the_script(self):
        self.assertIn(self.done.stdout.splitlines()[0].split('  ')[0], self.page.read_text().split('id="data"')[0])
        self.assertIn('FAILED', self.page.read_text().split('id="data"')[0])

    def test_hostile_texts_are_only_texts(self):
        def change(data):
            run = data['runs'][0]
            run['name'] = run['environment']['command'] = run['started_at'] = MARKUP
            run['targets'][0].update(name=MARKUP, url=f'javascript:alert(1){MARKUP}')
            run['phases'][0]['name'] = MARKUP
            run['errors'].update(first=MARKUP, samples=[{'at_s': 1, 'text': MARKUP}])
            run['status'][MARKUP] = 1
            run['scaling']['decisions'][0].update(why=MARKUP, service=MARKUP)
            run['assert'][0]['expression'] = MARKUP
        page = self.open_report(self.edited(change))
        self.assertEqual(page.run('return document.querySelectorAll("img, script:not([type])").length'), 0)
        page.press('ArrowRight')
        page.wait_text('<img src=x', '.formula')
        self.assertNotIn('\u202e', page.text())
        links = page.run('return [...document.querySelectorAll("a")].map((link) => link.getAttribute("href"))')
        self.assertEqual(set(links), {'#'})

    def test_a_run_without_an_engine_and_without_answers_has_a_page(self):
        def change(data):
            run = data['runs'][0]
            run.update(scaling=None, latency_ms=None, service_ms=None, connect_ms=None, status={}, targets=[], phases=[], marks=[], seconds=[])
            run['requests'].update(answered=0)
            run['plan'].update(url='http://127.0.0.1:1/', segments=[{'rate': 5.0, 'for_s': 3.0}])
            run['assert'] = []
        page = self.open_report(self.edited(change))
        self.assertIn('No answer', page.text('.verdict'))
        page.wait_text('In flight')

    def test_a_run_before_is_shown_beside_it(self):
        def change(data):
            before = json.loads(json.dumps(data['runs'][0]))
            before['name'] = 'the-run-before'
            before['latency_ms']['p99'] = 123
            data['runs'].insert(0, before)
        page = self.open_report(self.edited(change))
        page.wait_text('compared with the-run-before')
        page.wait_text('before 123 ms', '.key-figures')
        page.wait_text('P99, BEFORE' if 'P99' in page.text('section[aria-label=Phases] thead') else 'p99, before', 'section[aria-label=Phases]')
        page.wait_text('ready, run before', '[data-panel=Replicas]')

    def test_a_comparison_with_the_baseline_is_shown(self):
        def change(data):
            run = data['runs'][0]
            run['assert'] = []
            figure = {'figure': 'p99', 'before': 0.2, 'now': 0.3, 'change': 0.5, 'interval': [0.4, 0.6], 'verdict': 'worse', 'more_s': None}
            run['compare'] = {'schema': 1, 'verdict': 'worse', 'tolerance': 0.1, 'baseline': {'file': MARKUP, 'name': '', 'started_at': ''},
                              'comparisons': [{'name': '', 'verdict': 'worse', 'sentence': 'worse than main.json: p99 +50 %', 'runs': [], 'figures': [figure], 'warnings': [MARKUP]}]}
        page = self.open_report(self.edited(change))
        self.assertIn('Worse than the baseline', page.text('.verdict'))
        row = page.text('[aria-label="Compared with the baseline"] tbody tr')
        for text in ('p99', '300 ms', '200 ms', '+50.0 %', '+40.0 % to +60.0 %', 'worse'):
            self.assertIn(text, row)

    def test_small_windows_and_dark_ones_are_readable(self):
        for width, theme in ((1440, 'light'), (1440, 'dark'), (320, 'light'), (320, 'dark')):
            self.browser.size(width, 1200)
            self.browser.media(prefers_color_scheme=theme)
            page = self.open_report()
            self.assertLessEqual(page.run('return document.documentElement.scrollWidth'), width)
            page.run(axe.source())
            found = page.run('return axe.run().then((result) => result.violations.filter((one) => one.impact === "serious" || one.impact === "critical")'
                             '.map((one) => `${one.id}: ${one.nodes[0].html}`))')
            self.assertEqual(found, [], (width, theme))

    def test_downloads_are_the_report_and_its_seconds(self):
        page = self.open_report()
        texts = page.run('const kept = []; const own = URL.createObjectURL; URL.createObjectURL = (blob) => { kept.push(blob.text()); return "#"; }; '
                         'for (const link of document.querySelectorAll(".downloads a")) { link.addEventListener("click", (event) => event.preventDefault()); link.click(); } '
                         'URL.createObjectURL = own; return Promise.all(kept)')
        report, seconds = json.loads(texts[0]), texts[1].splitlines()
        self.assertEqual(report['schema'], 1)
        self.assertEqual(len(seconds), len(report['seconds']) + 1)
