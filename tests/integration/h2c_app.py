"""A program that speaks HTTP/2 in clear text on $PORT, and nothing else.

It answers with its pid and the request's path; /ready answers its readiness probe. With JOURNAL set,
each request appends one line `METHOD PATH`.
"""

import os
import signal

from app import journal
from queue_proxy.h2_peers import Container


def play(connection, stream):
    body = connection.body(stream)
    path = stream.headers[':path']
    journal(f"{stream.headers[':method']} {path}")
    connection.answer(stream, f'{path} {os.getpid()} '.encode() + body, trailers=[('x-sum', '7')])


if __name__ == '__main__':
    Container(play, port=int(os.environ['PORT']))
    signal.pause()
