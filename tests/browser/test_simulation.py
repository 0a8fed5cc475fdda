"""The page of `sluice simulate --html`, opened from disk: charts, values, keys, and nothing that comes from elsewhere."""

import json
import pathlib
import sys
import tempfile

from case import PageCase

DASHBOARD = pathlib.Path(__file__).resolve().parents[2] / 'common' / 'dashboard'
sys.path.insert(0, str(DASHBOARD))

import bundle  # noqa: E402

FILES = ('style.css', 'simulation.css', 'text.js', 'chart.js', 'simulation.js')
COLUMNS = ('ready', 'want', 'waiting', 'stable', 'panic')


class Page(PageCase):
    def open_page(self, rows, columns=COLUMNS, text='requests     3 answered'):
        before, between, end = bundle.parts(DASHBOARD / 'simulation.html', [DASHBOARD / name for name in FILES])
        data = {'title': 'Simulated 5:1m', 'dated': False, 'step': 2, 'columns': columns, 'rows': rows}
        file = tempfile.NamedTemporaryFile('w', suffix='.html')
        self.addCleanup(file.close)
        file.write(before + text + between + json.dumps(data) + end)
        file.flush()
        self.browser.open(pathlib.Path(file.name).as_uri())
        self.browser.wait_text(text)
        return self.browser

    def test_a_timeline_is_drawn_and_its_values_are_a_table(self):
        page = self.open_page([[2 * i, int(3 < i < 6), min(i, 4), min(i + 1, 4), i % 3, 2.5, 3.5] for i in range(30)])
        page.wait_text('Simulated 5:1m')
        page.wait_text('Replicas')
        page.wait_text('panic')
        drawn = page.run('const canvas = document.querySelector("[data-panel=Replicas] canvas"); '
                         'return canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((part) => part > 0)')
        self.assertTrue(drawn)
        page.press('t')
        page.until('document.querySelectorAll(".values tbody tr").length > 20')

    def test_a_replay_shows_both_decisions(self):
        page = self.open_page([[i, 0, 1, 2, 3, 1.5, 1.5] for i in range(9)], ('ready', 'recorded', 'want', 'stable', 'panic'))
        page.wait_text('wanted as recorded')
        page.wait_text('wanted here')

    def test_a_table_alone_needs_no_chart(self):
        page = self.open_page([], (), 'replica-seconds')
        self.assertTrue(page.run('return document.getElementById("charts").hidden'))
