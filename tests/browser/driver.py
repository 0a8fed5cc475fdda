"""A browser for tests: Debian's Chromium over WebDriver, in plain HTTP."""

import base64
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading

START_SECONDS = 30
COMMAND_SECONDS = 60
POLL_SECONDS = 0.05
ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'
KEYS = {'Escape': '\ue00c', 'Enter': '\ue007', 'Tab': '\ue004', 'ArrowLeft': '\ue012', 'ArrowUp': '\ue013', 'ArrowRight': '\ue014', 'ArrowDown': '\ue015', 'End': '\ue010', 'PageDown': '\ue00f'}
FLAGS = ('--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars', '--no-first-run', '--disable-background-networking',
         '--disable-component-update', '--lang=en-GB')


class NoBrowser(Exception):
    """Why there is none on this machine."""


class WebDriverError(Exception):
    pass


class Browser:
    """One Chromium with one page. close() ends it and its driver."""

    def __init__(self, width=1440, height=1200):
        driver, browser = shutil.which('chromedriver'), shutil.which('chromium')
        if not driver or not browser:
            raise NoBrowser(f'{"chromedriver" if browser else "chromium"} is not installed')
        self.folder = tempfile.TemporaryDirectory(prefix='sluice-browser-', ignore_cleanup_errors=True)
        environment = {**os.environ, 'HOME': self.folder.name, 'TMPDIR': self.folder.name}
        self.process = subprocess.Popen([driver, '--port=0'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
                                        start_new_session=True)
        self.session = ''
        try:
            self.port = self.port_of_driver()
            flags = [*FLAGS, f'--window-size={width},{height}', f'--user-data-dir={self.folder.name}/profile']
            wanted = {'browserName': 'chrome', 'goog:loggingPrefs': {'browser': 'ALL'}, 'goog:chromeOptions': {'binary': browser, 'args': flags}}
            self.session = '/session/' + self.call('POST', '/session', {'capabilities': {'alwaysMatch': wanted}})['sessionId']
        except BaseException:
            self.close()
            raise
        self.size(width, height)

    def port_of_driver(self):
        timer = threading.Timer(START_SECONDS, self.process.kill)
        timer.start()
        try:
            for line in self.process.stdout:
                if match := re.search(r'started successfully on port (\d+)', line):
                    threading.Thread(target=self.process.stdout.read, daemon=True).start()
                    return int(match[1])
        finally:
            timer.cancel()
        raise NoBrowser('chromedriver did not start')

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=COMMAND_SECONDS)
        try:
            connection.request(method, self.session + path, None if body is None else json.dumps(body), {'Content-Type': 'application/json'})
            value = json.loads(connection.getresponse().read())['value']
        finally:
            connection.close()
        if isinstance(value, dict) and 'error' in value:
            raise WebDriverError(f'{value["error"]}: {value["message"].splitlines()[0]}')
        return value

    def close(self):
        try:
            if self.session:
                self.call('DELETE', '')
        except (OSError, WebDriverError):
            pass
        # The driver, and a browser that it did not end.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.folder.cleanup()

    # ---- The page ----

    def open(self, url):
        """Loads `url`; one that differs in its fragment alone is loaded too."""
        self.call('POST', '/url', {'url': 'about:blank'})
        self.console()
        self.call('POST', '/url', {'url': url})

    def run(self, script, *arguments):
        """The value of a function body in the page; a promise is waited for."""
        return self.call('POST', '/execute/sync', {'script': script, 'args': list(arguments)})

    def until(self, expression, seconds=15):
        """Waits until the expression is true in the page, and returns it."""
        tick = threading.Event()
        for _ in range(int(seconds / POLL_SECONDS)):
            if value := self.run(f'return {expression}'):
                return value
            tick.wait(POLL_SECONDS)
        raise AssertionError(f'not within {seconds} s: {expression}; the page has: {self.text()[:1500]}; console: {self.console()}')

    def text(self, css='body'):
        return self.run('return document.querySelector(arguments[0])?.innerText ?? ""', css)

    def wait_text(self, text, css='body', seconds=15):
        return self.until(f'(document.querySelector({json.dumps(css)})?.innerText ?? "").includes({json.dumps(text)})', seconds)

    def find(self, css):
        return self.call('POST', '/element', {'using': 'css selector', 'value': css})[ELEMENT]

    def click(self, css):
        self.call('POST', f'/element/{self.find(css)}/click', {})

    def type(self, css, text):
        self.call('POST', f'/element/{self.find(css)}/value', {'text': text})

    def press(self, *keys):
        """Key by key, to what has the focus."""
        actions = [{'type': kind, 'value': KEYS.get(key, key)} for key in keys for kind in ('keyDown', 'keyUp')]
        self.call('POST', '/actions', {'actions': [{'type': 'key', 'id': 'keys', 'actions': actions}]})

    # ---- The browser around it ----

    def devtools(self, command, **parameters):
        return self.call('POST', '/goog/cdp/execute', {'cmd': command, 'params': parameters})

    def size(self, width, height, scale=1):
        self.devtools('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def media(self, **features):
        """media(prefers_color_scheme='dark')"""
        self.devtools('Emulation.setEmulatedMedia', features=[{'name': name.replace('_', '-'), 'value': value} for name, value in features.items()])

    def console(self):
        """What the console got since the last call: errors, refused contents."""
        return [entry for entry in self.call('POST', '/se/log', {'type': 'browser'}) if entry['level'] in ('SEVERE', 'WARNING')]

    def screenshot(self, path, whole=False):
        options = {'captureBeyondViewport': True, 'clip': {**self.run('return {x: 0, y: 0, width: innerWidth, height: document.documentElement.scrollHeight}'), 'scale': 1}} if whole else {}
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.devtools('Page.captureScreenshot', format='png', **options)['data']))

    def heap_bytes(self):
        """What lives, after a collection."""
        self.devtools('HeapProfiler.collectGarbage')
        return self.run('return performance.memory.usedJSHeapSize')
