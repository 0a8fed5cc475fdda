"""A program that speaks HTTP/2 in clear text on $PORT, and nothing else.

It answers with its pid and the request's path; /ready answers its readiness probe, and the health service
of gRPC says that it serves until the file named by SICK exists. With JOURNAL set, each request appends one
line `METHOD PATH`.
"""

import os
import pathlib
import signal

from app import journal
from queue_proxy.h2_peers import Container


def play(connection, stream):
    body = connection.body(stream)
    path = stream.headers[':path']
    journal(f"{stream.headers[':method']} {path}")
    if path == '/grpc.health.v1.Health/Check':
        sick = pathlib.Path(os.environ.get('SICK', '/none')).exists()
        connection.answer(stream, b'\x00\x00\x00\x00\x02\x08' + (b'\x02' if sick else b'\x01'),
                          headers=[('content-type', 'application/grpc')], trailers=[('grpc-status', '0')])
        return
    connection.answer(stream, f'{path} {os.getpid()} '.encode() + body, trailers=[('x-sum', '7')])


if __name__ == '__main__':
    Container(play, port=int(os.environ['PORT']))
    signal.pause()
