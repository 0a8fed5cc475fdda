"""`sluice dashboard` of a cluster whose kubeconfig names a plugin for its credentials (client.authentication.k8s.io)."""

import datetime
import json
import os
import signal
import sys

from screen import Screen
from service_proxy import TOKEN
from test_dashboard_verb import ClusterCase, problem
from wire import eventually

V1 = 'client.authentication.k8s.io/v1'
BETA = 'client.authentication.k8s.io/v1beta1'
# Journals how it was run and prints what `say` holds.
PLUGIN = '''#!{python} -B
import json, os, sys
with open({journal!r}, 'a') as journal:
    print(json.dumps({{'argv': sys.argv[1:], 'env': dict(os.environ), 'stdin': os.readlink('/proc/self/fd/0')}}), file=journal)
exec(open({script!r}).read())
'''


def later(seconds):
    at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
    return at.strftime('%Y-%m-%dT%H:%M:%SZ')


class PluginCase(ClusterCase):
    def setUp(self):
        super().setUp()
        self.journal = self.home.path / 'journal'
        self.script = self.home.path / 'script.py'
        self.plugin = self.home.path / 'login-plugin'
        self.plugin.write_text(PLUGIN.format(python=sys.executable, journal=str(self.journal), script=str(self.script)))
        self.plugin.chmod(0o755)
        self.says(token=TOKEN)

    def runs(self):
        return [json.loads(line) for line in self.journal.read_text().splitlines()] if self.journal.exists() else []

    def does(self, script):
        new = self.home.path / 'new'
        new.write_text(script)
        os.rename(new, self.script)

    def says(self, api_version=V1, **status):
        self.does('print(' + repr(json.dumps({'apiVersion': api_version, 'kind': 'ExecCredential', 'status': status})) + ')')

    def config_of(self, **changes):
        user = {'apiVersion': V1, 'command': str(self.plugin), 'interactiveMode': 'Never', **changes}
        return self.write('with-plugin', self.api.kubeconfig(token=None, exec=user))

    def with_plugin(self, **changes):
        return self.served('--kubeconfig', self.config_of(**changes))

    def refuses(self, *words, **changes):
        return self.assert_refuses(78, *words, arguments=('dashboard', '--kubeconfig', self.config_of(**changes)))


class Runs(PluginCase):
    def test_the_token_of_a_plugin_opens_the_cluster(self):
        for version in (V1, BETA):
            self.says(version, token=TOKEN)
            served = self.with_plugin(apiVersion=version)
            self.assertEqual(served.get('/api/v1/version').status, 200)
            self.assertEqual(served.stop(), 0)

    def test_a_plugin_gets_its_arguments_and_environment_and_no_shell_reads_them(self):
        self.home.environment['OTHER'] = 'ours'
        self.home.environment['REGION'] = 'ours'
        served = self.with_plugin(args=['get token', '$HOME', '; rm -rf /'], env=[{'name': 'REGION', 'value': 'north west'}])
        self.assertEqual(served.get('/api/v1/version').status, 200)
        run = self.runs()[0]
        self.assertEqual(run['argv'], ['get token', '$HOME', '; rm -rf /'])
        self.assertEqual((run['env']['REGION'], run['env']['OTHER']), ('north west', 'ours'))
        self.assertEqual(run['stdin'], '/dev/null')
        info = json.loads(run['env']['KUBERNETES_EXEC_INFO'])
        self.assertEqual(info, {'apiVersion': V1, 'kind': 'ExecCredential', 'spec': {'interactive': False}})

    def test_a_plugin_that_wants_it_gets_the_cluster(self):
        config = json.loads(self.api.kubeconfig(token=None, exec={
            'apiVersion': V1, 'command': './login-plugin', 'interactiveMode': 'Never', 'provideClusterInfo': True}))
        config['clusters'][0]['cluster']['extensions'] = [
            {'name': 'client.authentication.k8s.io/exec', 'extension': {'audience': 'a', 'number': 1}}]
        served = self.served('--kubeconfig', self.write('with-plugin', json.dumps(config)))
        self.assertEqual(served.get('/api/v1/version').status, 200)
        cluster = json.loads(self.runs()[0]['env']['KUBERNETES_EXEC_INFO'])['spec']['cluster']
        self.assertEqual(cluster['server'], f'https://{self.api.address}')
        self.assertEqual(cluster['config'], {'audience': 'a', 'number': 1})
        self.assertTrue(cluster['certificate-authority-data'])

    def test_a_client_certificate_of_a_plugin_opens_the_cluster(self):
        certificate, key = (self.home.path / name for name in ('api.crt', 'api.key'))
        self.says(clientCertificateData=certificate.read_text(), clientKeyData=key.read_text())
        served = self.with_plugin()
        self.assertEqual(served.get('/api/v1/version').status, 200)
        self.assertNotIn('authorization', self.api.asked[-1].headers)

    def test_a_plugin_is_found_on_the_path(self):
        self.home.environment['PATH'] = f'{self.home.path}:{self.home.environment["PATH"]}'
        self.assertEqual(self.with_plugin(command='login-plugin').get('/api/v1/version').status, 200)

    def test_a_plugin_asks_the_person_at_the_terminal(self):
        self.does('import json, sys\nprint("code?", file=sys.stderr)\nprint(json.dumps({"apiVersion": ' + repr(V1) +
                  ', "kind": "ExecCredential", "status": {"token": sys.stdin.readline().strip()}}))')
        screen = Screen(self.home, 'dashboard', '--kubeconfig', self.config_of(interactiveMode='Always'))
        self.addCleanup(screen.close)
        eventually(lambda: screen.read(0.1) and b'code?' in screen.shown, 'the question')
        screen.press(TOKEN + '\n')
        eventually(lambda: screen.read(0.1) and b'http://127.0.0.1:' in screen.shown, 'the link')
        self.assertTrue(json.loads(self.runs()[0]['env']['KUBERNETES_EXEC_INFO'])['spec']['interactive'])
        screen.press('\x03')
        self.assertEqual(screen.end(), 0)

    def test_a_token_is_renewed_before_it_expires_and_no_person_is_asked(self):
        self.says(token=TOKEN, expirationTimestamp=later(30))
        served = self.with_plugin(interactiveMode='IfAvailable')
        served.get('/api/v1/version')
        eventually(lambda: len(self.runs()) == 2, 'it is run again')
        self.assertEqual(self.runs()[1]['stdin'], '/dev/null')

    def test_a_token_that_the_server_refuses_is_replaced(self):
        served = self.with_plugin()
        self.api.token = 'token-of-today'
        self.says(token='token-of-today')
        self.assertEqual(problem(served.get('/api/v1/version')), (502, 'not-logged-in'))
        eventually(lambda: served.get('/api/v1/version').status == 200, 'the new token')
        self.assertEqual(len(self.runs()), 2)

    def test_a_plugin_that_runs_is_ended_with_its_command(self):
        served = self.with_plugin()
        self.api.token = 'another'
        self.does('import os\nopen(' + repr(str(self.home.path / 'pid')) + ', "w").write(str(os.getpid()))\n'
                  'os.execvp("sleep", ["sleep", "600"])')
        served.get('/api/v1/version')
        pid = eventually(lambda: len(self.runs()) == 2 and (self.home.path / 'pid').exists() and
                         (self.home.path / 'pid').read_text(), 'it runs')
        self.assertEqual(served.stop(), 0)
        eventually(lambda: not os.path.exists(f'/proc/{pid}'), 'it has ended')


class Fails(PluginCase):
    def test_what_is_wrong_with_a_plugin_is_said(self):
        self.refuses('the plugin', 'is not installed', 'get it at https://example.com', command='no-such-plugin',
                     installHint='get it at https://example.com')
        self.refuses('is not installed', 'install it', command='/no/such/plugin')
        self.does('import sys; print("no login", file=sys.stderr); sys.exit(3)')
        self.assertIn('no login', self.refuses('failed with status 3', 'run it by hand').stderr)
        self.does('import os, signal; os.kill(os.getpid(), signal.SIGKILL)')
        self.refuses(f'was ended by signal {int(signal.SIGKILL)}')
        self.does('print("x" * (2 << 20))')
        self.refuses('printed more than 1 MiB')

    def test_an_answer_that_is_no_credential_is_refused_and_not_shown(self):
        for script, words in (('print("Please log in")', 'no JSON object'),
                              ('print("{}")', 'no ExecCredential')):
            self.does(script)
            self.assertNotIn('log in', self.refuses(words).stderr)
        self.says(BETA, token=TOKEN)
        self.refuses('another apiVersion')
        for status, words in (({}, 'neither a token nor a client certificate'),
                              ({'clientKeyData': 'x'}, 'only one of'),
                              ({'token': 'a b'}, 'a header cannot carry'),
                              ({'token': TOKEN, 'expirationTimestamp': 'soon'}, 'is no time'),
                              ({'token': TOKEN, 'expirationTimestamp': later(-60)}, 'has expired')):
            self.says(**status)
            self.assertNotIn(TOKEN, self.refuses(words).stderr)

    def test_a_kubeconfig_with_an_incomplete_plugin_is_refused_before_the_plugin_is_run(self):
        self.refuses('no command', command='')
        self.refuses("apiVersion 'client.authentication.k8s.io/v1alpha1' is not supported",
                     apiVersion='client.authentication.k8s.io/v1alpha1')
        self.refuses("interactiveMode '' is not known", interactiveMode=None)
        self.refuses("interactiveMode 'Sometimes' is not known", interactiveMode='Sometimes')
        self.refuses('without a usable name', env=[{'name': 'A=B', 'value': 'c'}])
        self.refuses('run this in a terminal', interactiveMode='Always')
        both = self.write('both', self.api.kubeconfig(exec={'apiVersion': V1, 'command': 'x', 'interactiveMode': 'Never'}))
        self.assert_refuses(78, 'exec and other credentials', arguments=('dashboard', '--kubeconfig', both))
        self.assertEqual(self.runs(), [])

    def test_the_child_of_a_plugin_that_keeps_its_output_open_holds_up_nothing(self):
        path = str(self.home.path / 'held')
        os.mkfifo(path)
        held = os.open(path, os.O_RDWR)
        self.addCleanup(os.close, held)  # which ends the child
        self.does(f'import subprocess, sys\nsubprocess.Popen(["cat", {path!r}])\n{self.script.read_text()}')
        self.assertEqual(self.with_plugin().get('/api/v1/version').status, 200)
