"""The page of a real engine: what a person sees of it while requests come, it sleeps, fails, ends and is there again."""

import pathlib
import re
import sys
import threading
import urllib.request

from case import PageCase

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'integration'))

from engine import APP, Engine, Home, wait_until  # noqa: E402

MARKUP = '<img src=x onerror=alert(1)>\u202e'
LOADERS = 8
GROUPS = 'groups: [{name: fast, preference: 0, replicas: 3}, {name: slow, preference: 1, replicas: 9}]\n'


class RealCase(PageCase):
    quiet = False  # a connection that is refused is logged by the browser

    def setUp(self):
        super().setUp()
        self.home = Home()
        self.addCleanup(self.home.close)

    def up(self, *arguments, **options):
        engine = Engine(self.home, *arguments, **options)
        self.addCleanup(engine.kill)
        self.port = engine.http.rsplit(':', 1)[1]
        return engine

    def go(self, address, ready):
        self.browser.open(f'http://sluice.localhost:{self.port}/_sluice/{address}')
        self.browser.wait_text(ready, seconds=30)
        return self.browser

    def ask(self, path, host='app.localhost'):
        request = urllib.request.Request(f'http://127.0.0.1:{self.port}{path}', headers={'Host': host})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()

    def token(self):
        return pathlib.Path(self.home.environment['XDG_RUNTIME_DIR'], 'sluice/app/edit-token').read_text().split()[-1]


class Real(RealCase):
    def test_a_cold_start_appears_and_the_service_is_seen_awake_and_asleep(self):
        self.up('--window', '6s', '--', 'python3', APP)
        page = self.go('#/s/default/app', 'Asleep: no replica runs')
        self.ask('/')
        page.wait_text('1 replica is wanted and it is ready', seconds=30)
        page.wait_text('cold start', '.events', 30)
        page.wait_text('Most of the newest is', seconds=30)
        page.wait_text('Kept awake by', seconds=30)
        page.wait_text('Asleep: no replica runs', seconds=60)

    def test_load_is_seen_in_the_sentence_the_charts_and_the_reasons(self):
        self.up('--target', '2', '--', 'python3', APP)
        page = self.go('#/s/default/app', 'Asleep')
        ended = threading.Event()

        def load():
            while not ended.is_set():
                self.ask('/sleep?ms=200')

        loaders = [threading.Thread(target=load) for _ in range(LOADERS)]
        for loader in loaders:
            loader.start()
        try:
            page.until('[...document.querySelectorAll(".reasons td.number")].some((cell) => Number(cell.innerText) >= 2)', 60)
            page.until('document.querySelectorAll(".replicas li").length >= 2', 60)
            page.wait_text('per replica', '.reasons')
            self.assertEqual(self.home.run('simulate', self.saved(page)).returncode, 0)
            page.press('t')
            page.until('document.querySelectorAll(".values tbody tr").length > 3')
            page.run('location.hash = "#/"')
            page.until('[...document.querySelectorAll(".row .rps")].some((cell) => Number(cell.innerText) > 0)', 30)
        finally:
            ended.set()
            for loader in loaders:
                loader.join()

    def test_another_host_of_the_settings_opens_the_page_with_the_token_typed_or_in_its_address(self):
        config = self.home.path / 'config.yaml'
        config.write_text('dashboard: {peers: any, hosts: [box.localhost]}\n')
        self.up('--config', str(config), '--allow-edit', '--', 'python3', APP)
        token = self.token()
        self.browser.open(f'http://box.localhost:{self.port}/')
        self.browser.wait_text('shows nothing without', 'dialog', 30)
        self.enter_token('0' * 32)
        self.browser.wait_text('another token', '#notice', 30)
        self.browser.until('document.querySelectorAll("dialog").length === 1 && document.getElementById("token").value === ""')
        self.enter_token(token)
        self.browser.until('document.getElementById("live").dataset.state === "live"', 30)
        self.browser.until('document.querySelectorAll(".row .name a").length === 1', 30)
        self.assertEqual(self.rows(), ['app'])
        self.assertEqual(self.browser.text('#edit'), 'edits allowed')
        page = self.browser
        page.open(f'http://box.localhost:{self.port}/_sluice/#/s/default/app?token={token}')
        page.wait_text('Asleep: no replica runs', seconds=30)
        page.until('document.querySelectorAll(".buttons button").length === 4')
        page.run('document.querySelector(".buttons button").click()')
        page.click('dialog .primary')
        page.wait_text('it is ready', '.sentence', 30)

    def saved(self, page):
        """The file that *Save recording* saves."""
        folder = self.home.path / 'saved'
        folder.mkdir()
        page.devtools('Browser.setDownloadBehavior', behavior='allow', downloadPath=str(folder), eventsEnabled=True)
        page.click('#record')
        wait_until(lambda: list(folder.glob('*.jsonl')), 30, 'a saved recording')
        return str(next(folder.iterdir()))

    def test_a_service_is_moved_between_groups_and_its_traffic_divided(self):
        config = self.home.path / 'config.yaml'
        config.write_text(GROUPS)
        self.up('--config', str(config), '--allow-edit', '--', 'python3', APP)
        page = self.go(f'#/s/default/app?token={self.token()}', 'Asleep')
        self.choose('Wake', '.buttons button')
        page.click('dialog .primary')
        page.wait_text('fast 1', '.shares', 30)
        self.choose('Move', '.buttons button')
        page.until('document.querySelector("#move-to option")')
        page.run('document.getElementById("move-to").value = "slow"')
        page.click('dialog .primary')
        page.wait_text('1 replica in', '.events', 30)
        page.wait_text('slow 1', '.shares', 30)
        self.apply_another()
        wait_until(lambda: 'app-00002 (latest)' in self.home.run('revisions', 'app').stdout, 30, 'the second revision')
        self.choose('Traffic', '.buttons button')
        page.until('document.getElementById("traffic-1")')
        self.enter('traffic-0', '60')
        self.enter('traffic-1', '40')
        page.click('dialog .primary')
        page.until('!document.querySelector("dialog")')
        wait_until(lambda: re.search(r'app-00001 .* 40 %', self.home.run('revisions', 'app').stdout), 30, 'the traffic in parts')
        page.run('location.hash = "#/"')
        page.wait_text('claimed', '.fleet-places')

    def apply_another(self):
        """A second revision, of another environment."""
        file = self.home.path / 'app.yaml'
        file.write_text(self.home.run('get', 'app', '-o', 'yaml').stdout.replace('          workingDir', '          env: [{name: CHANGED, value: "1"}]\n          workingDir'))
        done = self.home.run('apply', '-f', str(file))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_clients_and_programs_write_is_text(self):
        self.up('--', 'python3', '-c', f'import sys; print({MARKUP!r}); print({MARKUP!r}, file=sys.stderr); sys.exit(3)')
        page = self.go('#/s/default/app', 'app')
        threading.Thread(target=lambda: self.swallow('/<script>alert(1)</script>'), daemon=True).start()
        page.wait_text('No replica starts', seconds=60)
        page.wait_text('exit code 3', seconds=30)
        # The engine has taken out of the log what turns a text around; what it left is text.
        page.wait_text('<img src=x onerror=alert(1)>?', '.failure pre', 30)
        self.assertNotIn('\u202e', page.text())
        self.assertEqual(page.run('return document.querySelectorAll("main img, main script").length'), 0)

    def swallow(self, path):
        try:
            self.ask(path)
        except OSError:
            pass

    def test_changes_with_the_token_of_the_start_and_none_at_localhost(self):
        self.up('--allow-edit', '--', 'python3', APP)
        token = self.token()
        page = self.go(f'#/s/default/app?token={token}', 'Asleep')
        page.until('document.querySelectorAll(".buttons button").length === 4')
        page.run('document.querySelector(".buttons button").click()')
        page.click('dialog .primary')
        page.wait_text('it is ready', '.sentence', 30)
        page.open(f'http://localhost:{self.port}/_sluice/#/s/default/app?token={token}')
        page.until('document.querySelectorAll(".buttons button").length === 4', 30)
        page.run('document.querySelector(".buttons button").click()')
        page.click('dialog .primary')
        page.until('!document.querySelector("dialog .problem").hidden')


    def test_a_removed_service_is_shown_as_none_and_a_wrong_token_is_dropped(self):
        self.up('--allow-edit', '--', 'python3', APP)
        page = self.go(f'#/s/default/app?token={"0" * 32}', 'Asleep')
        self.choose('Wake', '.buttons button')
        page.click('dialog .primary')
        page.wait_text('wrong token', '#edit', 30)
        self.ask('/')
        page.wait_text('it is ready', '.sentence', 30)
        self.assertEqual(self.home.run('delete', 'app').returncode, 0)
        page.wait_text('There is no service app', seconds=30)
        self.assertEqual(page.run('return document.querySelectorAll(".buttons, .sentence, .row").length'), 0)


class Ended(RealCase):
    def test_an_engine_that_ended_is_grey_and_one_that_began_is_live(self):
        engine = self.up('--', 'python3', APP)
        page = self.go('#/', 'app')
        engine.kill()
        page.until('document.body.classList.contains("stale")', 30)
        self.assertIn('reconnecting', page.text('#live'))
        self.up('--', 'python3', APP, http=f'127.0.0.1:{self.port}')
        page.until('document.getElementById("live").dataset.state === "live"', 30)
        self.assertEqual(self.rows(), ['app'])
