"""WebSocket frames, as plain as a test needs them (RFC 6455)."""

import base64
import hashlib
import os
import socket
import struct

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
MAGIC = b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11'


def handshake(path='/chat', key=b'dGhlIHNhbXBsZSBub25jZQ=='):
    return (b'GET ' + path.encode() + b' HTTP/1.1\r\nHost: app\r\nUpgrade: websocket\r\n'
            b'Connection: keep-alive, Upgrade\r\nSec-WebSocket-Key: ' + key +
            b'\r\nSec-WebSocket-Version: 13\r\nOrigin: http://app\r\n\r\n')


def accept(exchange):
    """The container's side of the handshake."""
    key = exchange.headers['sec-websocket-key'].encode()
    proof = base64.b64encode(hashlib.sha1(key + MAGIC).digest())
    exchange.send(b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n'
                  b'Connection: Upgrade\r\nSec-WebSocket-Accept: ' + proof + b'\r\n\r\n')


def frame(opcode, payload=b'', last=True, masked=True):
    size = len(payload)
    mask_bit = 0x80 if masked else 0
    head = bytes([(0x80 if last else 0) | opcode])
    if size < 126:
        head += bytes([mask_bit | size])
    elif size < 65536:
        head += bytes([mask_bit | 126]) + struct.pack('>H', size)
    else:
        head += bytes([mask_bit | 127]) + struct.pack('>Q', size)
    if not masked:
        return head + payload
    mask = os.urandom(4)
    return head + mask + unmask(payload, mask)


def unmask(payload, mask):
    size = len(payload)
    stream = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, 'big') ^ int.from_bytes(stream, 'big')).to_bytes(size, 'big')


def read_frame(reader):
    """(opcode, payload, last), or None at the end of the connection."""
    head = reader.exactly(2)
    if len(head) < 2:
        return None
    size = head[1] & 127
    if size == 126:
        size = struct.unpack('>H', reader.exactly(2))[0]
    elif size == 127:
        size = struct.unpack('>Q', reader.exactly(8))[0]
    mask = reader.exactly(4) if head[1] & 0x80 else b'\0\0\0\0'
    return head[0] & 15, unmask(reader.exactly(size), mask), bool(head[0] & 0x80)


def echo(exchange):
    """A container that echoes frames, answers pings and closes when asked."""
    accept(exchange)
    while (got := read_frame(exchange.reader)) is not None:
        opcode, payload, last = got
        if opcode == PING:
            exchange.send(frame(PONG, payload, masked=False))
        elif opcode == CLOSE:
            # The server closes the connection first (RFC 6455 7.1.1).
            exchange.send(frame(CLOSE, payload, masked=False))
            exchange.sock.shutdown(socket.SHUT_RDWR)
            return
        elif opcode != PONG:
            exchange.send(frame(opcode, payload, last, masked=False))
