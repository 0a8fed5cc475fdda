"""Raw HTTP/2 frames, for what no library would send."""

import struct

import hpack

from wire import connect

PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, \
    CONTINUATION = range(10)
END_STREAM, END_HEADERS, ACK = 1, 4, 1
CODES = ('NO_ERROR', 'PROTOCOL_ERROR', 'INTERNAL_ERROR', 'FLOW_CONTROL_ERROR', 'SETTINGS_TIMEOUT',
         'STREAM_CLOSED', 'FRAME_SIZE_ERROR', 'REFUSED_STREAM', 'CANCEL', 'COMPRESSION_ERROR',
         'CONNECT_ERROR', 'ENHANCE_YOUR_CALM')
REQUEST = ((':method', 'GET'), (':scheme', 'http'), (':path', '/'), (':authority', 'app'))


def frame(kind, flags=0, stream=0, payload=b''):
    return struct.pack('>I', len(payload))[1:] + bytes([kind, flags]) + struct.pack('>I', stream) \
        + payload


def block(fields):
    """A header block that touches no table: literal, never indexed, without Huffman."""
    made = b''
    for name, value in fields:
        made += b'\x10' + literal(name) + literal(value)
    return made


def literal(text):
    raw = text if isinstance(text, bytes) else text.encode('latin-1')
    return integer(len(raw), 7) + raw


def integer(value, prefix):
    most = (1 << prefix) - 1
    if value < most:
        return bytes([value])
    made = bytes([most])
    value -= most
    while value >= 128:
        made += bytes([value & 127 | 128])
        value >>= 7
    return made + bytes([value])


class RawConnection:
    """Sends the given frames and records the answers."""

    def __init__(self, address, preface=True):
        self.sock = connect(address)
        self.data = b''
        self.decoder = hpack.Decoder()
        self.frames = []  # of (kind, flags, stream, payload)
        if preface:
            self.send(PREFACE + frame(SETTINGS))

    def send(self, data):
        """Whether the other side still took it."""
        try:
            self.sock.sendall(data)
            return True
        except (ConnectionResetError, BrokenPipeError):
            return False

    def request(self, stream, fields=REQUEST, end=True):
        return self.send(frame(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream,
                               block(fields)))

    def next_frame(self):
        """The next frame, or None at the end of the connection."""
        while len(self.data) < 9 or len(self.data) < 9 + int.from_bytes(self.data[:3], 'big'):
            try:
                part = self.sock.recv(65536)
            except (ConnectionResetError, BrokenPipeError):
                return None
            if not part:
                return None
            self.data += part
        size = int.from_bytes(self.data[:3], 'big')
        kind, flags = self.data[3], self.data[4]
        stream = int.from_bytes(self.data[5:9], 'big') & 0x7fffffff
        payload, self.data = self.data[9:9 + size], self.data[9 + size:]
        self.frames.append((kind, flags, stream, payload))
        return self.frames[-1]

    def until(self, wanted):
        """Reads until `wanted(frame)`; None when the connection ended before."""
        while (got := self.next_frame()) is not None:
            if wanted(got):
                return got
        return None

    def ending(self):
        """How it refuses what was sent: ('goaway'|'reset', name of the code), or ('closed', '')."""
        got = self.until(lambda one: one[0] in (GOAWAY, RST_STREAM))
        if got is None:
            return 'closed', ''
        kind, _, _, payload = got
        code = int.from_bytes(payload[4:8] if kind == GOAWAY else payload[:4], 'big')
        return ('goaway' if kind == GOAWAY else 'reset'), CODES[code]

    def close(self):
        self.sock.close()
