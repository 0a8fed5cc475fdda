"""Servers in Python."""

import unittest

import grpc

from engine import EngineCase
from programs.case import START_SECONDS, Claims, Files


class HttpServer(Files, EngineCase):
    command = ('python3', '-m', 'http.server', '$PORT', '--directory', 'www')
    logged = '"GET / HTTP/1.1" 200'


class Flask(Claims, EngineCase):
    command = ('flask', '--app', 'flask_app', 'run', '--port', '$PORT')
    answer = b'hello from flask'
    logged = '"GET /slow HTTP/1.1" 200'


class Gunicorn(Claims, EngineCase):
    """It takes its port out of $PORT by itself."""

    command = ('gunicorn', 'flask_app:app')
    answer = b'hello from flask'
    logged = 'Booting worker with pid'


class FastApi(Claims, EngineCase):
    command = ('uvicorn', 'fastapi_app:app', '--port', '$PORT')
    answer = b'hello from fastapi'
    logged = '"GET /slow HTTP/1.1" 200'


class Grpc(Claims, EngineCase):
    command = ('python3', 'grpc_app.py')
    protocol = 'h2c'
    answer = b'hello'
    logged = 'grpc serves'
    METHODS = {'/': '/test.Echo/Say', '/slow': '/test.Echo/Slow'}

    def ask(self, engine, path='/'):
        with grpc.insecure_channel(engine.http, [('grpc.default_authority', 'app.localhost')]) as channel:
            return channel.unary_unary(self.METHODS[path])(b'hello', timeout=START_SECONDS)


if __name__ == '__main__':
    unittest.main()
