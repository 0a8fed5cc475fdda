"""`sluice load` where nothing good can come: what it calls the errors, and that it counts each of them."""

import json
import subprocess
import unittest

from engine import SLUICE, EngineCase

KINDS = ('connect_refused', 'connect_timeout', 'no_local_port', 'tls', 'reset', 'timeout', 'invalid', 'not_sent')
NO_NAMESPACE = 'no network namespace may be made on this machine'
# A network namespace with a few local ports, all of which wait for slow answers.
WITHOUT_PORTS = '''
ip link set lo up
echo "40000 40003" > /proc/sys/net/ipv4/ip_local_port_range
{python} -c 'import http.server, threading
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        threading.Event().wait(0.3)
        self.send_response(204)
        self.end_headers()
    def log_message(self, *arguments):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Answer)
server.serve_forever()' &
server=$!
trap 'kill $server' EXIT
until (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null; do :; done
{sluice} load http://127.0.0.1:8000/ --engine off --rate 100 -n 50 --timeout 2s -o json
'''


class Faults(EngineCase):
    def assert_all_accounted(self, report, planned):
        """Answers and errors of every kind are what was planned."""
        kinds = {kind: report['errors'][kind] for kind in KINDS}
        self.assertEqual(report['requests']['answered'] + sum(kinds.values()), planned, kinds)
        return kinds

    def test_nothing_listens(self):
        done = self.home.run('load', 'http://127.0.0.1:1/', '--rate', '100', '-n', '50', '-o', 'json')

        self.assertEqual(done.returncode, 69)
        kinds = self.assert_all_accounted(json.loads(done.stdout), 50)
        self.assertEqual(kinds['connect_refused'], 50)

    def test_no_local_port_is_left(self):
        probe = subprocess.run(['unshare', '-n', 'true'], check=False, capture_output=True)
        if probe.returncode:
            print(NO_NAMESPACE)
            return
        script = WITHOUT_PORTS.format(sluice=SLUICE, python='/usr/bin/python3')
        done = subprocess.run(['unshare', '-n', 'bash', '-c', script], env=self.home.environment, capture_output=True, text=True,
                              timeout=60, check=False)

        self.assertIn(done.returncode, (0, 69), done.stderr)
        kinds = self.assert_all_accounted(json.loads(done.stdout[done.stdout.index('{'):]), 50)
        self.assertGreater(kinds['no_local_port'], 0, kinds)


if __name__ == '__main__':
    unittest.main()
