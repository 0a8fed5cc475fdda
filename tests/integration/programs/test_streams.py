"""Connections that stay open: they keep their program awake and count as load until they are closed."""

import asyncio
import unittest

import websockets

from engine import EngineCase
from programs.case import START_SECONDS, Claims
from wire import Reader, connect, request_bytes

EVENT = b'data: first\n\n'


class ServerSentEvents(Claims, EngineCase):
    """Its first event comes while the response is still open."""

    command = ('uvicorn', 'fastapi_app:app', '--port', '$PORT')
    answer = EVENT
    logged = '"GET /events HTTP/1.1" 200'

    def subscribe(self, engine):
        """An open stream whose first event has come."""
        sock = connect(engine.http, START_SECONDS)
        self.addCleanup(sock.close)
        sock.sendall(request_bytes('GET', '/events', 'app.localhost'))
        reader = Reader(sock)
        status, headers = reader.head()
        self.assertEqual((status, headers['transfer-encoding']), (200, 'chunked'))
        self.assertEqual(reader.until(b'\r\n'), b'%x' % len(EVENT))
        self.assertEqual(reader.exactly(len(EVENT)), EVENT)
        return sock

    def ask(self, engine, path='/'):
        with self.subscribe(engine):
            return EVENT

    def occupy(self, engine, done):
        with self.subscribe(engine):
            done.wait()


class WebSocket(Claims, EngineCase):
    command = ('python3', 'websocket_app.py')
    answer = b'hello'
    logged = 'a socket is open'

    async def converse(self, engine, pause):
        """What comes back for a message after the pause, on one connection."""
        host, port = engine.http.rsplit(':', 1)
        async with websockets.connect('ws://app.localhost/', host=host, port=int(port),
                                      open_timeout=START_SECONDS) as opened:
            await opened.send(b'before')
            self.assertEqual(await opened.recv(), b'before')
            await asyncio.to_thread(pause)
            await opened.send(b'hello')
            return await opened.recv()

    def ask(self, engine, path='/'):
        return asyncio.run(self.converse(engine, lambda: None))

    def occupy(self, engine, done):
        self.assertEqual(asyncio.run(self.converse(engine, done.wait)), b'hello')


if __name__ == '__main__':
    unittest.main()
