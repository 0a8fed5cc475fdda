"""Protobuf's bytes, as plain as a test needs them."""

import struct


def varint(number):
    number &= (1 << 64) - 1
    made = b''
    while number > 127:
        made += bytes([number & 127 | 128])
        number >>= 7
    return made + bytes([number])


def read_varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number, at


def signed(number):
    return number - (1 << 64) if number >= 1 << 63 else number


def field(number, value):
    """One field: int as varint, float as double, str and bytes by length."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack('<d', value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(**numbered):
    """fields(f1='a', f3=2): fields by number; lists repeat."""
    made = b''
    for name, value in numbered.items():
        for each in value if isinstance(value, list) else [value]:
            made += field(int(name[1:]), each)
    return made


def parse(data):
    """{number: [values]}: varints as int, doubles as float; what has a length stays bytes."""
    found, at = {}, 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from('<d', data, at)[0], at + 8
        elif kind == 2:
            size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise AssertionError(f'wire type {kind}')
        found.setdefault(number, []).append(value)
    return found


def parse_flat(data):
    """{number: value} of a message in which nothing repeats."""
    return {number: values[-1] for number, values in parse(data).items()}


def stat(concurrency, count, pod='activator', timestamp=0):
    """A metrics.Stat."""
    return fields(f1=pod, f2=float(concurrency), f4=float(count), f7=timestamp)


def wire_stat(name, concurrency, count, space='default', timestamp=0):
    """A metrics.WireStatMessage."""
    return fields(f1=space, f2=name, f3=stat(concurrency, count, timestamp=timestamp))


def wire_stats(*messages):
    """A metrics.WireStatMessages: the payload of one WebSocket frame."""
    return fields(f1=list(messages))


def parse_wire_stats(data):
    """[(namespace, name, {field of Stat: value})] of a WireStatMessages."""
    found = []
    for message in parse(data).get(1, []):
        parts = parse_flat(message)
        found.append((parts[1].decode(), parts[2].decode(), parse_flat(parts[3])))
    return found


def revision_key(name, space='default'):
    return fields(f1=space, f2=name)
