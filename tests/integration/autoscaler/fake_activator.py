"""An activator as the autoscaler sees it: one gRPC call over HTTP/2, played by hand."""

from protowire import fields, parse, revision_key, signed, wire_stat

from .grpc_stream import GrpcStream

METHOD = '/sluice.v1.ActivatorStream/Connect'


def state_of(data):
    """A RevisionState as a dictionary."""
    raw = parse(data)
    key = parse(raw[1][0])

    def number(at):
        return signed(raw.get(at, [0])[0])

    return {'revision': key[2][0].decode(), 'version': raw.get(2, [0])[0], 'desired': number(3),
            'granted': number(4), 'ready': number(5),
            'cannot_scale': parse(raw[8][0])[1][0] if 8 in raw else None,
            'avoid': [each.decode() for each in raw.get(9, [])]}


class FakeActivator(GrpcStream):
    """Says hello when it is made; states are kept in `states` by revision as they arrive."""

    def __init__(self, address, name='activator-1', waiting=(), protocol=1, tls=None):
        super().__init__(address, METHOD, tls)
        self.states = {}
        self.gone = []
        self.welcome = None
        self.snapshot = None  # revisions in it, once it has ended
        self.sequence = 0
        self.say(fields(f1=fields(f1=protocol, f2=name, f3='127.0.0.1:1', f4='test',
                                  f5=[self.waiting(*each) for each in waiting])))

    @staticmethod
    def waiting(name, requests, oldest_ms=5):
        return fields(f1=revision_key(name), f2=requests, f3=oldest_ms)

    @staticmethod
    def stat(name, concurrency, count, space='default', newest_ms=None):
        return wire_stat(name, concurrency, count, space) + (b'' if newest_ms is None else fields(f4=newest_ms))

    def report(self, *stats, waiting=()):
        """One batch; each stat is (revision, concurrency, count[, namespace[, newest_ms]])."""
        self.sequence += 1
        self.say(fields(f2=fields(f1=self.sequence, f2=[self.stat(*each) for each in stats],
                                  f3=[self.waiting(*each) for each in waiting])))

    def apply(self, name):
        """Confirms the newest state of a revision."""
        self.say(fields(f3=fields(f1=revision_key(name), f2=self.states[name]['version'])))

    def known(self):
        return self.states

    def hear(self, message):
        message = parse(message)
        if 1 in message:
            self.welcome = parse(message[1][0])
        if 2 in message:
            state = state_of(message[2][0])
            self.states[state['revision']] = state
        if 3 in message:
            self.gone.append(parse(parse(message[3][0])[1][0])[2][0].decode())
        if 4 in message:
            self.snapshot = parse(message[4][0]).get(1, [0])[0]
