"""Who may speak on the gRPC door (protocols.md 1): by certificate, by token, and in plain text."""

import contextlib
import stat

from engine import BIN
from program import Program
from protowire import wire_stat, wire_stats
from queue_proxy.websocket import BINARY, frame, handshake
from wire import Reader, connect, eventually, request_bytes

from .fake_activator import METHOD as ACTIVATOR_STREAM
from .fake_activator import FakeActivator
from .grpc_stream import GrpcStream
from .test_nodes import ASLEEP
from .test_nodes import METHOD as NODE_STREAM
from .test_nodes import FakeAgent
from .tls_case import ENROLL, ClusterTest, TlsTest, run

HAND_OVER = '/sluice.v1.HandOver/Take'  # replicas of the previous build call it
HEALTH = '/grpc.health.v1.Health/Check'
DENIED, UNIMPLEMENTED, UNAUTHENTICATED = 7, 12, 16
REFUSED = (OSError, AssertionError)
SERVER = 'DNS:autoscaler,DNS:localhost,URI:sluice://autoscaler'


class Call(GrpcStream):
    """One call whose answers are kept."""

    def __init__(self, address, method, message=b'', tls=None):
        super().__init__(address, method, tls)
        self.heard = []
        self.say(message)

    def hear(self, message):
        self.heard.append(message)

    def ended(self):
        self.wait(lambda call: call.status is not None, 'the status')
        return self.status


class Files(TlsTest):
    """Beside a directory platform: the files of SLUICE_TLS_DIR."""

    def setUp(self):
        super().setUp()
        key = self.key('ca')
        run('req', '-x509', '-key', key, '-subj', '/CN=authority', '-days', '1', '-out', self.folder / 'ca.crt')
        (self.folder / 'autoscaler').mkdir()
        certificate, key = self.issue('autoscaler', SERVER)
        for name, path in (('tls.crt', certificate), ('tls.key', key), ('ca.crt', self.folder / 'ca.crt')):
            (self.folder / 'autoscaler' / name).write_bytes(path.read_bytes())

    def issue(self, name, names):
        """(certificate, key) by the authority."""
        key = self.key(name)
        request, certificate = self.folder / f'{name}.csr', self.folder / f'{name}.crt'
        run('req', '-new', '-key', key, '-subj', '/CN=leaf', '-out', request)
        run('x509', '-req', '-in', request, '-CA', self.folder / 'ca.crt', '-CAkey', self.folder / 'ca.key',
            '-CAcreateserial', '-days', '1', '-extfile',
            self.write(f'{name}.ext', f'subjectAltName={names}'), '-out', certificate)
        return certificate, key

    def secured(self):
        return self.start(SLUICE_TLS_DIR=str(self.folder / 'autoscaler'))

    def tls(self, *names):
        if not names:
            return self.context(self.folder / 'ca.crt')
        return self.context(self.folder / 'ca.crt', *self.issue('client', ','.join(names)))

    def agent(self, running, node, tls):
        return self.kept(FakeAgent(running.addresses['grpc'], node, tls=tls))

    def test_each_role_has_its_own_stream_and_no_other(self):
        running = self.secured()
        roles = {ACTIVATOR_STREAM: 'sluice://activator', NODE_STREAM: 'sluice://node-agent/n1'}
        for uri in (*roles.values(), 'sluice://autoscaler'):
            tls = self.tls(f'URI:{uri}')
            for method, wanted in roles.items():
                if wanted != uri:
                    call = self.kept(Call(running.addresses['grpc'], method, tls=tls))
                    self.assertEqual(call.ended(), DENIED, (uri, method))
                    self.assertIn('sluice://', call.message)
        self.refused(running, 'wrong_role')

    def test_a_connection_without_a_certificate_of_ours_ends_in_its_handshake(self):
        running = self.secured()
        key, certificate = self.key('stranger'), self.folder / 'stranger.crt'
        run('req', '-x509', '-key', key, '-subj', '/CN=stranger', '-days', '1', '-out', certificate)
        for tls in (self.tls(), self.context(self.folder / 'ca.crt', certificate, key)):
            for method in (ACTIVATOR_STREAM, NODE_STREAM, HAND_OVER, HEALTH):
                with self.assertRaises(REFUSED):
                    self.kept(Call(running.addresses['grpc'], method, tls=tls)).ended()
        self.refused(running, 'handshake')

    def test_a_replica_of_the_previous_build_is_answered_that_nothing_is_taken_over(self):
        call = self.kept(Call(self.secured().addresses['grpc'], HAND_OVER, tls=self.tls('URI:sluice://autoscaler')))
        self.assertEqual(call.ended(), UNIMPLEMENTED)

    def test_plain_text_is_refused_and_counted(self):
        running = self.secured()
        with self.assertRaises(AssertionError):
            self.kept(Call(running.addresses['grpc'], ACTIVATOR_STREAM)).ended()
        self.refused(running, 'plain_text')

    def test_tls_at_a_plain_door_is_refused_and_counted(self):
        running = self.start()
        with self.assertRaises((OSError, AssertionError)):
            self.kept(Call(running.addresses['grpc'], ACTIVATOR_STREAM, tls=self.tls())).ended()
        self.refused(running, 'tls')

    def test_a_forged_report_makes_no_pod_unready(self):
        self.platform.revision('app', [self.pod('pod-1').entry()])
        running = self.secured()
        activator = self.kept(FakeActivator(running.addresses['grpc'], tls=self.tls('URI:sluice://activator')))
        activator.wait(lambda a: a.snapshot is not None, 'the snapshot')
        other = self.agent(running, 'n1', self.tls('URI:sluice://node-agent/n2'))
        self.assertEqual(other.report(throttled=['pod-1']).status, DENIED)
        self.assertIn('n2', other.message)
        # Of its own node it may speak, and of a pod there only: pod-1 is on n1.
        own = self.agent(running, 'n2', self.tls('URI:sluice://node-agent/n2')).report(throttled=['pod-1'])
        self.assertEqual(own.status, None)
        activator.report(('app', 1, 1))
        self.assertEqual(running.api('/services/default/app').json()['ready'], 1)
        self.assertEqual(activator.states['app']['avoid'], [])

        self.agent(running, 'n1', self.tls('URI:sluice://node-agent/n1')).report(throttled=['pod-1'])

        activator.wait(lambda a: a.states['app']['avoid'], 'the pod to avoid')
        self.refused(running, 'other_node')

    def test_a_request_at_a_real_activator_wakes_a_revision(self):
        self.platform.put('config-autoscaler.json', {'allow-zero-initial-scale': 'true'})
        self.platform.revision('app', annotations=ASLEEP)
        running = self.secured()
        certificate, key = self.issue('activator', 'URI:sluice://activator')
        own = self.folder / 'activator'
        own.mkdir()
        for name, path in (('tls.crt', certificate), ('tls.key', key), ('ca.crt', self.folder / 'ca.crt')):
            (own / name).write_bytes(path.read_bytes())
        door = self.kept(Program([str(BIN / 'activator')], {
            **{f'SLUICE_{each}_ADDRESS': '127.0.0.1:0' for each in ('HTTP', 'H2C', 'METRICS')},
            'SLUICE_TLS_ADDRESS': '', 'POD_NAME': 'a', 'POD_IP': '127.0.0.1', 'SYSTEM_NAMESPACE': 'system',
            'SLUICE_PLATFORM': f'dir:{self.platform.path}', 'SLUICE_TLS_DIR': str(own),
            'SLUICE_AUTOSCALER_ADDRESS': 'localhost:' + running.addresses['grpc'].rsplit(':', 1)[1]}))
        client = self.kept(connect(door.addresses['serving']))
        client.sendall(b'GET / HTTP/1.1\r\nHost: app.example\r\n\r\n')
        self.platform.wait_for_scale('app', lambda order: order['replicas'] == 1)

    def test_a_stream_stays_open_while_its_authority_is_replaced(self):
        self.platform.revision('app', [self.pod('pod-1').entry()])
        running = self.secured()
        old = self.kept(FakeActivator(running.addresses['grpc'], tls=self.tls('URI:sluice://activator')))
        old.wait(lambda a: a.snapshot is not None, 'the snapshot')
        before = (self.folder / 'ca.crt').read_bytes()
        run('req', '-x509', '-key', self.key('ca'), '-subj', '/CN=next', '-days', '1', '-out', self.folder / 'ca.crt')
        both = self.folder / 'autoscaler' / 'ca.crt.new'
        both.write_bytes((self.folder / 'ca.crt').read_bytes() + before)
        both.rename(self.folder / 'autoscaler' / 'ca.crt')
        certificate, key = self.issue('next', 'URI:sluice://activator')
        tls = self.context(self.folder / 'autoscaler' / 'ca.crt', certificate, key)

        def taken():
            made = self.kept(FakeActivator(running.addresses['grpc'], 'activator-2', tls=tls))
            try:
                return made.wait(lambda a: a.welcome is not None, 'the welcome')
            except (AssertionError, OSError):
                return None
        eventually(taken, 'an activator by the next authority')

        self.platform.revision('app', [])
        old.wait(lambda a: a.states['app']['ready'] == 0, 'a state on the stream of before')

    def test_without_a_secret_there_is_no_door_to_enrol_at(self):
        self.assertNotIn('enroll', self.secured().addresses)


class Cluster(ClusterTest):
    def test_certificates_are_made_and_carried(self):
        self.cluster()
        activator = eventually(lambda: self.api.data('secrets', 'sluice-activator-tls'), 'the Secret')
        own = self.api.data('secrets', 'sluice-tls')
        self.assertEqual(sorted(own), ['ca.crt', 'ca.key', 'tls.crt', 'tls.key'])
        self.assertEqual(sorted(activator), ['ca.crt', 'tls.crt', 'tls.key'])
        self.assertEqual(activator['ca.crt'], own['ca.crt'])
        self.assertEqual(self.bundle().read_text(encoding='ascii'), own['ca.crt'])
        self.assertEqual((self.dir / 'tls.key').read_text(encoding='ascii'), own['tls.key'])
        self.assertEqual(stat.S_IMODE((self.dir / 'tls.key').stat().st_mode), 0o600)

    def test_the_websocket_is_not_there_without_knative(self):
        self.assertEqual(sorted(self.cluster().addresses), ['api', 'enroll', 'grpc', 'metrics'])

    def test_forged_stats_on_the_websocket_concern_no_request_scaler(self):
        self.api.watched['/apis/autoscaling.sluice.dev/v1alpha1/requestscalers'] = [{
            'metadata': {'name': 'app', 'namespace': 'default', 'uid': '1', 'resourceVersion': '1'},
            'spec': {'targetRef': {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'name': 'app'}}}]
        running = self.cluster(stats='127.0.0.1:0')
        door = self.kept(connect(running.addresses['stats']))
        door.sendall(handshake('/'))
        self.assertEqual(Reader(door).answer().status, 101)
        for _ in range(5):
            door.sendall(frame(BINARY, wire_stats(wire_stat('app', 1000, 1000))))
        page = eventually(lambda: (text := running.health('/metrics').body.decode()) and
                          'refused_total{reason="stat_of_request_scaler"} 5' in text and text, 'five refusals')
        for line in page.splitlines():
            if line.startswith('sluice_autoscaler_stats_total'):
                self.assertEqual(line.rsplit(' ', 1)[1], '0', line)

    def test_an_activator_connects_with_the_certificate_made_for_it(self):
        running = self.cluster()
        activator = self.kept(FakeActivator(running.addresses['grpc'], tls=self.activator_tls()))
        activator.wait(lambda a: a.welcome is not None, 'the welcome')

    def test_an_agent_gets_a_certificate_for_the_node_of_its_token(self):
        running = self.cluster()
        answer, key = self.enrol(running, self.api.bearer('good', node_name='n1', pod_name='node-agent-1'))
        self.assertEqual(answer.status, 200, answer.body)
        certificate = self.write('agent.crt', answer.body.decode())
        tls = self.context(self.bundle(), certificate, key)
        running.wait_leading()
        mine = self.kept(FakeAgent(running.addresses['grpc'], 'n1', tls=tls)).report()
        self.assertEqual(list(mine.acks), [1])
        other = self.kept(FakeAgent(running.addresses['grpc'], 'n2', tls=tls)).report()
        self.assertEqual(other.status, DENIED)

    def test_an_older_api_server_names_the_pod_and_the_pod_names_the_node(self):
        running = self.cluster()
        self.api.objects['/api/v1/namespaces/system/pods/node-agent-1'] = {
            'metadata': {'name': 'node-agent-1', 'namespace': 'system', 'uid': '1'},
            'spec': {'nodeName': 'n7'}, 'status': {'phase': 'Running'}}
        answer, _ = self.enrol(running, self.api.bearer('old', pod_name='node-agent-1'))
        self.assertEqual(answer.status, 200, answer.body)
        text = run('x509', '-in', self.write('agent.crt', answer.body.decode()), '-text').decode()
        self.assertIn('sluice://node-agent/n7', text)

    def test_other_tokens_get_nothing(self):
        running = self.cluster()
        self.api.bearer('other', user='system:serviceaccount:system:default', node_name='n1')
        self.api.bearer('elsewhere', user='system:serviceaccount:evil:node-agent', node_name='n1')
        self.api.bearer('unbound')
        for token in ('forged', 'other', 'elsewhere', 'unbound'):
            self.assertEqual(self.enrol(running, token)[0].status, 403, token)
        self.assertEqual(self.enrol(running, '')[0].status, 401)
        self.refused(running, 'token')

    def test_a_malformed_request_to_enrol_is_refused(self):
        running = self.cluster()
        self.bundle()
        for status, sent in (
                (404, request_bytes('POST', '/', 'a')), (405, request_bytes('GET', ENROLL, 'a')),
                (413, request_bytes('POST', ENROLL, 'a', body=b'x')),
                (401, request_bytes('POST', ENROLL, 'a', [('Content-Length', '0')])),
                (400, request_bytes('POST', ENROLL, 'a', [('Authorization', 'Bearer t'), ('Content-Length', '0')])),
                (431, request_bytes('POST', ENROLL, 'a', [('Authorization', 'Bearer ' + 'x' * 10_000)]))):
            door = self.asking(running)
            door.sendall(sent)
            self.assertEqual(Reader(door).answer().status, status, sent[:40])

    def test_strangers_do_not_use_up_the_pace_of_an_agent(self):
        running = self.cluster()
        self.bundle()
        heard = [self.enrol(running, 'forged', f'127.0.1.{1 + at % 5}')[0] for at in range(60)]
        self.assertEqual({answer.status for answer in heard}, {403, 429})
        self.assertTrue(all(int(answer.headers['retry-after']) > 0 for answer in heard if answer.status == 429))
        self.refused(running, 'enrolment_pace')
        answer, _ = self.enrol(running, self.api.bearer('good', node_name='n1'))
        self.assertEqual(answer.status, 200, answer.body)

    def test_a_request_to_enrol_that_stays_incomplete_ends(self):
        running = self.cluster()
        self.bundle()
        silent = self.kept(connect(running.addresses['enroll']))
        door = self.asking(running)
        door.sendall(b'POST /v1/enroll HTTP/1.1\r\nHost: a\r\n')
        self.assertEqual(Reader(door).answer().status, 408)
        self.assertEqual(silent.recv(1), b'')

    def test_silent_connections_keep_no_agent_out(self):
        running = self.cluster()
        self.bundle()
        for _ in range(300):
            self.kept(connect(running.addresses['enroll']))
            with contextlib.suppress(OSError):  # one that has given way at once
                self.kept(connect(running.addresses['enroll'])).sendall(b'\x16\x03\x01\x02\0\x01')
        answer, _ = self.enrol(running, self.api.bearer('good', node_name='n1'), '127.0.0.9')
        self.assertEqual(answer.status, 200, answer.body)

    def test_an_activator_of_an_older_chart_may_come_in_plain_text_and_only_to_its_stream(self):
        running = self.cluster()
        self.api.activators = [('127.0.0.1', {})]
        activator = self.kept(FakeActivator(running.addresses['grpc']))
        activator.wait(lambda a: a.welcome is not None, 'the welcome')
        for method in (NODE_STREAM,):
            self.assertEqual(self.kept(Call(running.addresses['grpc'], method)).ended(), UNAUTHENTICATED)

    def test_an_activator_of_this_chart_may_not_come_in_plain_text(self):
        running = self.cluster()
        self.api.activators = [('127.0.0.1', {'sluice.dev/stream-tls': 'mutual'})]
        with self.assertRaises(AssertionError):
            self.kept(Call(running.addresses['grpc'], ACTIVATOR_STREAM)).ended()
        self.refused(running, 'plain_text')

    def test_a_secret_of_the_users_is_used_as_it_is(self):
        first = self.cluster()
        self.bundle()
        kept = self.api.objects['/api/v1/namespaces/system/secrets/sluice-tls']
        del kept['data']['ca.key']
        before = dict(kept['data'])
        first.terminate()
        first.process.wait(20)
        running = self.cluster()
        activator = self.kept(FakeActivator(running.addresses['grpc'], tls=self.activator_tls()))
        activator.wait(lambda a: a.welcome is not None, 'the welcome')
        self.assertEqual(self.api.objects['/api/v1/namespaces/system/secrets/sluice-tls']['data'], before)
        answer, _ = self.enrol(running, self.api.bearer('good', node_name='n1'))
        self.assertEqual(answer.status, 503)
        self.assertIn(b'ca.key', answer.body)
