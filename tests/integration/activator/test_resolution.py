"""Which revision a request is for, and what goes upstream (activator.md 4, 7)."""

import unittest

from activator.case import ActivatorCase, eventually, requests_of, sidecar_play
from wire import Reader, fetch, request_bytes

NOT_FOUND = b'Error getting active endpoint: revision.serving.knative.dev "%s" not found\n'


class Resolution(ActivatorCase):
    def setUp(self):
        super().setUp()
        self.upstream = self.played()
        self.platform.revision('fooname', 'foospace', [('p', self.upstream.address)],
                               hosts=['foo.example.com'])
        self.door = self.activator()

    def ask_host(self, host, headers=()):
        return self.door.get(revision=None, host=host, headers=headers)

    def test_row_1_headers_name_the_revision_whatever_the_host(self):
        answer = self.door.get(revision='fooname', space='foospace', host='nobody.example.com')
        self.assert_answer(answer, 200, b'ok')

    def test_row_2_a_host_of_the_cluster_form_names_it(self):
        self.assert_answer(self.ask_host('fooname.foospace.svc.cluster.local'), 200, b'ok')

    def test_row_3_with_a_port_too(self):
        self.assert_answer(self.ask_host('fooname.foospace.svc.cluster.local:80'), 200, b'ok')

    def test_row_4_an_unknown_revision_is_not_found(self):
        answer = self.door.get(revision='barname', space='foospace')
        self.assert_answer(answer, 404, NOT_FOUND % b'barname')
        self.assert_cause(answer, 'no-route')

    def test_row_5_one_header_alone_names_none(self):
        answer = self.ask_host('x.example.com', [('Knative-Serving-Revision', 'fooname')])
        self.assert_answer(answer, 404, NOT_FOUND % b'fooname')

    def test_row_6_another_cluster_domain_names_none(self):
        self.assert_answer(self.ask_host('fooname.foospace.svc.other.domain'), 404, NOT_FOUND % b'')

    def test_a_host_of_the_revision_file_names_it_in_any_case_and_with_a_port(self):
        for host in ('foo.example.com', 'FOO.example.com:8080'):
            self.assert_answer(self.ask_host(host), 200, b'ok')

    def test_the_longest_path_prefix_of_a_host_names_the_revision_and_stays_in_the_path(self):
        for name, prefix in (('shop', '/shop'), ('cart', '/shop/cart/'), ('rest', '/')):
            answer = b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n' + name.encode()
            pod = self.played(sidecar_play(answer))
            self.platform.revision(name, 'foospace', [('p', pod.address)],
                                   hosts=[{'host': 'all.example.com', 'path_prefix': prefix}])
            eventually(lambda: self.door.get(revision=name, space='foospace').status == 200, name)
        for path, name in (('/shop', b'shop'), ('/shop/a?b=/cart', b'shop'), ('/shop/cart/1', b'cart'),
                           ('/shop/cartoon', b'shop'), ('/shopping', b'rest'), ('/', b'rest')):
            answer = self.door.get(path, revision=None, host='ALL.example.com:80')
            self.assert_answer(answer, 200, name)
        self.assertEqual(requests_of(pod)[-2].path, '/shopping')

    def test_rows_13_and_14_headers_on_the_way_to_the_pod(self):
        self.door.get('/x', revision='fooname', space='foospace', host='foo.example.com',
                      headers=[('K-Network-Hash', 'abc'), ('K-Proxy-Request', 'me'),
                               ('X-Forwarded-For', '10.1.1.1')])
        seen = requests_of(self.upstream)[-1].headers
        self.assertEqual(seen['host'], self.upstream.address)
        self.assertEqual(seen['k-original-host'], 'foo.example.com')
        self.assertEqual(seen['k-proxy-request'], 'activator')
        self.assertEqual(seen['x-forwarded-for'], '10.1.1.1, 127.0.0.1')
        for gone in ('k-network-hash', 'knative-serving-revision', 'knative-serving-namespace',
                     'forwarded'):
            self.assertNotIn(gone, seen)

    def original_host(self, revision, *headers):
        """The Host that the pod received, for foo.example.com and then an address."""
        self.door.get(revision=revision, space='foospace', host='foo.example.com', headers=headers)
        seen = requests_of(self.upstream)[-1]
        self.assertEqual(seen.head.lower().count('\nk-original-host:'), 1)
        self.assertEqual(seen.headers['host'], self.upstream.address)
        return seen.headers['k-original-host']

    def knative_revision(self):
        self.platform.revision('knative', 'foospace', [('p', self.upstream.address)],
                               annotations={'serving.knative.dev/configuration': 'foo'})
        eventually(lambda: self.door.get(revision='knative', space='foospace').status == 200, 'found')

    def test_row_19_an_original_host_that_knatives_ingress_set_is_kept(self):
        self.knative_revision()
        self.assertEqual(self.original_host('knative', ('K-Original-Host', 'kept.example.com')),
                         'kept.example.com')

    def test_row_19_an_original_host_of_a_client_is_dropped(self):
        forged = ('K-Original-Host', 'admin.example.com')
        self.assertEqual(self.original_host('fooname', forged), 'foo.example.com')
        self.assertEqual(self.original_host('fooname', ('K-Original-Host', ''), forged), 'foo.example.com')

    def test_connection_cannot_leave_a_pods_address_as_the_host(self):
        self.knative_revision()
        for revision in ('fooname', 'knative'):
            self.assertEqual(self.original_host(revision, ('Connection', 'K-Original-Host'),
                                                ('K-Original-Host', 'other.example.com')),
                             'foo.example.com')

    def test_the_authority_of_an_absolute_target_names_the_revision(self):
        for target, host, status in (('http://foo.example.com/a', 'other.example.com', 200),
                                     ('http://other.example.com/a', 'foo.example.com', 404)):
            with self.door.connect() as sock:
                sock.sendall(request_bytes('GET', target, host))
                self.assertEqual(Reader(sock).answer().status, status)
        seen = requests_of(self.upstream)[-1]
        self.assertEqual((seen.path, seen.headers['k-original-host']), ('/a', 'foo.example.com'))

    def test_connect_is_not_supported(self):
        answer = fetch(self.door.serving, 'foo.example.com:80', host='foo.example.com:80',
                       method='CONNECT')
        self.assert_answer(answer, 502, b'client sent unsupported CONNECT request\n')

    def test_a_revision_that_comes_later_is_found_and_one_that_goes_is_not(self):
        self.platform.revision('late', 'foospace', [('p', self.upstream.address)])
        eventually(lambda: self.door.get(revision='late', space='foospace').status == 200, 'found')
        self.platform.forget('late', 'foospace')
        eventually(lambda: self.door.get(revision='late', space='foospace').status == 404, 'gone')


if __name__ == '__main__':
    unittest.main()
