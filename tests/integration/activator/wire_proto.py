"""As much of protobuf's wire form as the messages between activator and autoscaler need."""

import struct


def varint(value):
    value &= (1 << 64) - 1
    made = b''
    while value > 127:
        made += bytes([value & 127 | 128])
        value >>= 7
    return made + bytes([value])


def field(number, value):
    """One field: int as varint, float as double, str and bytes by length."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack('<d', value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(body):
    """{number: [values]} of a message; what has a length stays bytes."""
    found, at = {}, 0
    while at < len(body):
        key, at = read_varint(body, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = read_varint(body, at)
        elif kind == 1:
            value, at = struct.unpack_from('<d', body, at)[0], at + 8
        elif kind == 2:
            size, at = read_varint(body, at)
            value, at = body[at:at + size], at + size
        else:
            raise AssertionError(f'wire type {kind}')
        found.setdefault(number, []).append(value)
    return found


def read_varint(body, at):
    value = shift = 0
    while True:
        byte = body[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def stats(body):
    """[(namespace, name, {field of Stat: value})] of a WireStatMessages."""
    found = []
    for message in fields(body).get(1, []):
        parts = fields(message)
        stat = {number: values[0] for number, values in fields(parts[3][0]).items()}
        found.append((parts[1][0].decode(), parts[2][0].decode(), stat))
    return found
