"""HTTP/1.1 messages on asyncio streams, as far as a proxy in front of an API server needs them."""

import asyncio

BODY_BYTES_MAX = 1 << 24
PIECE_BYTES = 1 << 16


class StreamEnded(Exception):
    """The peer left where there should have been more, or sent what is no HTTP."""


class Head:
    """A start line and headers by lower-case name, beside the bytes they came as."""

    def __init__(self, raw):
        self.raw = raw
        lines = raw.decode('latin-1').split('\r\n')
        self.start = lines[0]
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(':')
            self.headers[name.strip().lower()] = value.strip()

    @property
    def status(self):
        return int(self.start.split(' ')[1])

    @property
    def chunked(self):
        return self.headers.get('transfer-encoding', '').lower() == 'chunked'


async def read_head(reader):
    """The next head; None when the stream ended before one began."""
    try:
        return Head(await reader.readuntil(b'\r\n\r\n'))
    except asyncio.IncompleteReadError as ended:
        if ended.partial:
            raise StreamEnded from ended
        return None
    except asyncio.LimitOverrunError as long:
        raise StreamEnded from long


async def read_rest(reader, head):
    """The body of a request, with its framing."""
    if head.chunked:
        raw = b''
        while len(raw) < BODY_BYTES_MAX:
            line = await reader.readuntil(b'\r\n')
            size = int(line.split(b';')[0], 16)
            raw += line + await reader.readexactly(size + 2)
            if size == 0:
                return raw
        raise StreamEnded
    length = int(head.headers.get('content-length', 0))
    if length > BODY_BYTES_MAX:
        raise StreamEnded
    return await reader.readexactly(length)


class Message:
    """The body of a response, in pieces as they come."""

    def __init__(self, reader, head, method):
        self.reader = reader
        self.head = head
        self.empty = method == 'HEAD' or head.status in (204, 304) or head.status < 200
        self.to_end = not self.empty and not head.chunked and 'content-length' not in head.headers

    @property
    def reusable(self):
        return not self.to_end and self.head.headers.get('connection', '').lower() != 'close'

    async def pieces(self):
        if self.empty:
            return
        if self.head.chunked:
            while (size := int((await self.reader.readuntil(b'\r\n')).split(b';')[0], 16)) > 0:
                yield (await self.reader.readexactly(size + 2))[:-2]
            await self.reader.readuntil(b'\r\n')  # no trailers come from there
            return
        left = int(self.head.headers.get('content-length', 1 << 62))
        while left > 0:
            piece = await self.reader.read(min(left, PIECE_BYTES))
            if not piece:
                if self.to_end:
                    return
                raise StreamEnded
            left -= len(piece)
            yield piece

    def framed(self, piece):
        if not self.head.chunked or not piece:
            return piece
        return f'{len(piece):x}\r\n'.encode() + piece + b'\r\n'

    def end(self):
        return b'0\r\n\r\n' if self.head.chunked and not self.empty else b''
