"""The live view of `sluice up` and `top` on terminals of several sizes."""

import pathlib
import re
import unittest

from engine import EngineCase
from screen import Screen
from wire import connect, fetch

APP = str(pathlib.Path(__file__).resolve().parent / 'printing_app.py')
ADDRESS = re.compile(r'http://app\.localhost:(\d+)')


class ScreenCase(EngineCase):
    def screen(self, *arguments, **size):
        shown = Screen(self.home, *arguments, **size)
        self.addCleanup(shown.close)
        return shown

    def up_on_screen(self, **size):
        shown = self.screen('up', '--http', '127.0.0.1:0', '--', 'python3', APP, **size)
        frame = shown.wait(lambda lines: lines and ADDRESS.search(lines[0]))
        return shown, int(ADDRESS.search(frame[0]).group(1))

    def ask(self, port, path='/'):
        return fetch(f'127.0.0.1:{port}', path, host='app.localhost')


class Up(ScreenCase):
    def test_the_address_the_engine_the_target_and_the_first_reason_are_shown(self):
        shown, port = self.up_on_screen(columns=160)
        frame = shown.wait(lambda lines: 'no requests yet' in ''.join(lines))
        self.assertEqual(frame[0], f'http://app.localhost:{port} · engine app')
        self.assertIn('7.0 (70 % of 10)', frame[2])
        self.assertNotIn('-0.', frame[2])

    def test_events_are_apart_from_output(self):
        shown, port = self.up_on_screen()
        self.assertEqual(self.ask(port, '/?print=hello').status, 200)
        frame = shown.wait(lambda lines: 'app-00001-1 | hello' in lines)
        self.assertLess(frame.index('events'), frame.index('output of app'))
        self.assertLess(frame.index('output of app'), frame.index('app-00001-1 | hello'))
        events = frame[frame.index('events'):frame.index('output of app')]
        self.assertTrue(any('first request held' in line for line in events), events)
        self.assertFalse(any(' | ' in line for line in events), events)

    def test_narrow_screens_have_the_important_columns(self):
        for columns, heads in ((60, 'SERVICE  READY/WANT  RPS  QUEUE  STATE   WHY'),
                               (34, 'SERVICE  READY/WANT  RPS  STATE')):
            shown, port = self.up_on_screen(columns=columns)
            frame = shown.wait(lambda lines: len(lines) > 3)
            self.assertIn(f'http://app.localhost:{port}', frame[0])
            self.assertIn('engine app', frame[0] + frame[1])
            self.assertIn(heads, frame)
            self.assertLessEqual(max(map(len, frame)), columns)
            shown.press('qy')
            self.assertEqual(shown.end(), 0)

    def test_events_have_their_reason_on_narrow_screens_too(self):
        for columns in (60, 34):
            shown, port = self.up_on_screen(columns=columns)
            self.assertEqual(self.ask(port).status, 200)
            shown.wait(lambda lines: 'why: zero replicas' in re.sub(' +', ' ', ' '.join(lines)))
            self.assertLessEqual(max(map(len, shown.frame())), columns)
            shown.press('qy')
            self.assertEqual(shown.end(), 0)

    def test_a_key_kills_what_the_end_waits_for_and_is_shown(self):
        shown = self.screen('up', '--http', '127.0.0.1:0', '--demo')
        port = int(ADDRESS.search(shown.wait(lambda lines: lines and ADDRESS.search(lines[0]))[0]).group(1))
        with connect(f'127.0.0.1:{port}') as client:
            client.sendall(b'GET /sleep?ms=60000 HTTP/1.1\r\nHost: app.localhost\r\n\r\n')
            shown.wait(lambda lines: any('app-00001-1 ready' in line for line in lines))
            shown.press('qy')
            shown.wait(lambda lines: lines[-1] == 'waits for requests in flight; Ctrl-C kills them')
            shown.press('\x03')
            self.assertEqual(shown.end(), 130)

    def test_services_end_after_a_question_only(self):
        shown, port = self.up_on_screen()
        shown.press('q')
        shown.wait(lambda lines: lines[-1] == 'end engine app, with 1 service and 0 replicas? y/n')
        shown.press('n')
        shown.wait(lambda lines: lines[-1].startswith('q quit'))
        self.assertEqual(self.ask(port).status, 200)
        shown.press('q')
        shown.wait(lambda lines: lines[-1] == 'end engine app, with 1 service and 1 replica? y/n')
        shown.press('y')
        self.assertEqual(shown.end(), 0)
        self.assertIn(b'stopped 1 replica, 0 requests cut', shown.shown)


class Top(ScreenCase):
    def test_it_leaves_at_once_and_the_engine_stays(self):
        engine = self.up('--', 'python3', APP)
        shown = self.screen('top')
        port = engine.http.rsplit(':', 1)[1]
        frame = shown.wait(lambda lines: len(lines) > 2)
        self.assertEqual(frame[0], f'http://app.localhost:{port} · engine app')
        shown.press('q')
        self.assertEqual(shown.end(), 0)
        self.assertEqual(engine.get().status, 200)


if __name__ == '__main__':
    unittest.main()
