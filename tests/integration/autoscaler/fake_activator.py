"""An activator as the autoscaler sees it: one gRPC call over HTTP/2, played by hand."""

import struct

import h2.config
import h2.connection
import h2.events

from protowire import fields, parse, revision_key, signed, wire_stat
from wire import PATIENCE, Deadline, connect

METHOD = '/sluice.v1.ActivatorStream/Connect'


def state_of(data):
    """A RevisionState as a dictionary."""
    raw = parse(data)
    key = parse(raw[1][0])

    def number(at):
        return signed(raw.get(at, [0])[0])

    return {'revision': key[2][0].decode(), 'version': raw.get(2, [0])[0], 'desired': number(3),
            'granted': number(4), 'ready': number(5),
            'avoid': [each.decode() for each in raw.get(9, [])]}


class FakeActivator:
    """Says hello when it is made; states are kept in `states` by revision as they arrive."""

    def __init__(self, address, name='activator-1', waiting=(), protocol=1):
        self.sock = connect(address)
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        self.h2.initiate_connection()
        self.stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(self.stream, [
            (':method', 'POST'), (':scheme', 'http'), (':path', METHOD), (':authority', 'autoscaler'),
            ('content-type', 'application/grpc'), ('te', 'trailers')])
        self.data = b''
        self.states = {}
        self.gone = []
        self.welcome = None
        self.snapshot = None  # revisions in it, once it has ended
        self.status = None  # of the call, once it has ended
        self.message = ''
        self.sequence = 0
        self.say(fields(f1=fields(f1=protocol, f2=name, f3='127.0.0.1:1', f4='test',
                                  f5=[self.waiting(*each) for each in waiting])))

    @staticmethod
    def waiting(name, requests, oldest_ms=5):
        return fields(f1=revision_key(name), f2=requests, f3=oldest_ms)

    def say(self, message):
        self.h2.send_data(self.stream, b'\0' + struct.pack('>I', len(message)) + message)
        self.flush()

    def flush(self):
        data = self.h2.data_to_send()
        if data:
            self.sock.sendall(data)

    def report(self, *stats, waiting=()):
        """One batch; each stat is (revision, concurrency, count)."""
        self.sequence += 1
        self.say(fields(f2=fields(f1=self.sequence, f2=[wire_stat(*each) for each in stats],
                                  f3=[self.waiting(*each) for each in waiting])))

    def apply(self, name):
        """Confirms the newest state of a revision."""
        self.say(fields(f3=fields(f1=revision_key(name), f2=self.states[name]['version'])))

    def wait(self, condition, what, seconds=PATIENCE):
        """Reads until condition(self)."""
        deadline = Deadline(seconds)
        while not condition(self):
            if deadline.passed():
                raise AssertionError(f'{what} did not come; states: {self.states}')
            self.sock.settimeout(deadline.left())
            try:
                part = self.sock.recv(65536)
            except TimeoutError:
                continue
            if not part:
                raise AssertionError(f'the autoscaler closed the connection before {what}')
            for event in self.h2.receive_data(part):
                self.take(event)
            self.flush()
        return self

    def take(self, event):
        if isinstance(event, h2.events.DataReceived):
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            self.data += event.data
            while len(self.data) >= 5:
                size = struct.unpack('>I', self.data[1:5])[0]
                if len(self.data) < 5 + size:
                    return
                message, self.data = self.data[5:5 + size], self.data[5 + size:]
                self.hear(parse(message))
        elif isinstance(event, (h2.events.TrailersReceived, h2.events.ResponseReceived)):
            headers = {str(name, 'ascii') if isinstance(name, bytes) else name:
                       str(value, 'utf-8') if isinstance(value, bytes) else value
                       for name, value in event.headers}
            if 'grpc-status' in headers:
                self.status = int(headers['grpc-status'])
                self.message = headers.get('grpc-message', '')

    def hear(self, message):
        if 1 in message:
            self.welcome = parse(message[1][0])
        if 2 in message:
            state = state_of(message[2][0])
            self.states[state['revision']] = state
        if 3 in message:
            self.gone.append(parse(parse(message[3][0])[1][0])[2][0].decode())
        if 4 in message:
            self.snapshot = parse(message[4][0]).get(1, [0])[0]

    def close(self):
        self.sock.close()
