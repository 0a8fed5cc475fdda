"""Protobuf's bytes, as plain as a test needs them: enough to play an activator."""

import struct


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while True:
        low, number = number & 0x7f, number >> 7
        out.append(low | (0x80 if number else 0))
        if not number:
            return bytes(out)


def field(number, value):
    """One field: int as varint, float as double, str and bytes with their length."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack('<d', value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(**numbered):
    """fields(f1='a', f3=2): the fields of a message, by number; lists repeat."""
    out = b''
    for name, value in numbered.items():
        for each in value if isinstance(value, list) else [value]:
            out += field(int(name[1:]), each)
    return out


def read_varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return number, at


def parse(data):
    """{number: [values]}; varints as int, the rest as bytes."""
    found, at = {}, 0
    while at < len(data):
        tag, at = read_varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 1:
            value, at = data[at:at + 8], at + 8
        elif kind == 2:
            size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            value, at = data[at:at + 4], at + 4
        found.setdefault(tag >> 3, []).append(value)
    return found


def signed(number):
    return number - (1 << 64) if number >= 1 << 63 else number


def stat(concurrency, count, pod='activator', timestamp=0):
    """A metrics.Stat."""
    return fields(f1=pod, f2=float(concurrency), f4=float(count), f7=timestamp)


def wire_stat(name, concurrency, count, space='default', timestamp=0):
    """A metrics.WireStatMessage."""
    return fields(f1=space, f2=name, f3=stat(concurrency, count, timestamp=timestamp))


def wire_stats(*messages):
    """A metrics.WireStatMessages: the payload of one WebSocket frame."""
    return fields(f1=list(messages))


def revision_key(name, space='default'):
    return fields(f1=space, f2=name)
