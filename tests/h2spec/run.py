#!/usr/bin/env -S /usr/bin/python3 -B
"""Runs h2spec, strict, against each door that speaks HTTP/2: run.py BIN_DIRECTORY.

h2spec is built once (go.mod says which; ../kubernetes/lab/toolbox.py says where it is kept). Behind the
doors stands a server of Debian's python3-h2. Closes with one line per door: `DOOR: P of 146 passed`, or
`h2spec: SKIPPED, REASON` where this machine cannot build it. Exit status 1 if something failed; with
CI=true also if it was skipped.
"""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / 'integration'), str(HERE.parent / 'kubernetes')]

from lab import toolbox  # noqa: E402

CASES = 146
RUN_SECONDS = 600
# A door in clear text takes HTTP/1.1 as well, and until the preface is whole the client has not said
# which of the two it speaks. One whose first line is neither gets what HTTP/1.1 has for it: 400, and the
# connection is closed. RFC 9113 3.4 allows that: an invalid preface is an error of the connection, for
# which GOAWAY may be left out, "since an invalid preface indicates that the peer is not using HTTP/2".
# h2spec wants no byte before the close. Over TLS, where h2 was agreed on, there is no such case.
IN_CLEAR = {('http2/3.5', 'Sends invalid connection preface')}
LIKE_HTTP_1 = 'HTTP/1.1 header'  # how h2spec prints what it got
NOT_XML = re.compile(rb'[^\t\n\r\x20-\x7e]|&#x?0*[0-9a-fA-F]{1,2};')


def failures(report):
    """{(section, case): the message of h2spec} and the number of all cases, from its JUnit report."""
    count = 0
    failed = {}
    # The message of a failed case may hold bytes of a frame, which are no XML.
    text = NOT_XML.sub(b'?', report.read_bytes())
    for case in xml.etree.ElementTree.fromstring(text).iter('testcase'):
        count += 1
        words = [child.text or '' for child in case if child.tag in ('error', 'failure', 'skipped')]
        if words:
            failed[case.get('package'), case.get('classname')] = ' '.join(words)
    return failed, count


def check(program, door, address, *options, allowed=frozenset()):
    """Whether all cases pass but those allowed; prints those that do not."""
    host, port = address.rsplit(':', 1)
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, 'report.xml')
        done = subprocess.run([str(program), '--strict', '-h', host, '-p', port, '-j', str(report), *options],
                              capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
        if not report.exists():
            print(f'{door}: h2spec made no report: {done.stdout[-2000:]}{done.stderr[-2000:]}')
            return False
        failed, count = failures(report)
    excused = {case for case in failed if case in allowed and LIKE_HTTP_1 in failed[case]}
    for case in sorted(set(failed) - excused):
        print(f'{door}: {" ".join(case)}: {failed[case]}')
    passed = count - len(failed)
    note = f', {len(excused)} answered as HTTP/1.1' if excused else ''
    print(f'{door}: {passed} of {CASES} passed{note}', flush=True)
    return passed + len(excused) == CASES


def doors(stack, certificates):
    """(name, address, options of h2spec, cases that may fail) of each door."""
    # They read SLUICE_BIN when they are loaded.
    from activator.case import Activator, Platform
    from queue_proxy.h2_peers import Container
    from queue_proxy.test_tls import make_pair
    from sidecar import Sidecar

    def play(connection, stream):
        connection.body(stream)
        connection.answer(stream, b'hello\n' * 10)

    def started(program):
        stack.callback(program.close)
        return program

    make_pair(certificates, 'h2spec')
    app = started(Container(play))
    sidecar = started(Sidecar(app.port, QUEUE_SERVING_TLS_PORT='127.0.0.1:0', SLUICE_CERTS_DIR=certificates))
    platform = started(Platform())
    platform.revision(hosts=['127.0.0.1'], protocol='h2c', pods=[('pod-1', sidecar.serving)])
    activator = started(Activator(platform, SLUICE_CERTS_DIR=certificates))
    return (('queue-proxy', sidecar.serving, (), IN_CLEAR),
            ('queue-proxy over TLS', sidecar.addresses['tls'], ('-t', '-k'), frozenset()),
            ('activator', activator.h2c, (), IN_CLEAR),
            ('activator over TLS', activator.addresses['tls'], ('-t', '-k'), frozenset()))


def main():
    if len(sys.argv) != 2:
        print('usage: run.py BIN_DIRECTORY', file=sys.stderr)
        return 2
    os.environ['SLUICE_BIN'] = sys.argv[1]
    try:
        program = toolbox.build('h2spec') / 'h2spec'
    except toolbox.NoTools as reason:
        print(f'h2spec: SKIPPED, {reason}')
        return 1 if os.environ.get('CI') == 'true' else 0
    with contextlib.ExitStack() as stack:
        certificates = stack.enter_context(tempfile.TemporaryDirectory())
        results = [check(program, door, address, *options, allowed=allowed)
                   for door, address, options, allowed in doors(stack, certificates)]
    return 0 if all(results) else 1


if __name__ == '__main__':
    sys.exit(main())
