"""Web servers and run times of other languages. What has to be compiled, the test compiles."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from engine import EngineCase
from programs.case import APPS, PLACES, Claims, Files

COMPILE_SECONDS = 300


class Nginx(Files, EngineCase):
    command = ('sh', 'nginx.sh')
    logged = '"GET / HTTP/1.1" 200'


class Caddy(Files, EngineCase):
    command = ('caddy', 'file-server', '--root', 'www', '--listen', '127.0.0.1:$PORT')
    logged = 'Caddy serving static files'


class Php(Claims, EngineCase):
    command = ('php', '-S', '127.0.0.1:$PORT', 'index.php')
    answer = b'hello from php'
    logged = 'Development Server'


class Express(Claims, EngineCase):
    command = ('node', 'express_app.js')
    answer = b'hello from express'
    logged = 'express listens on'


class Go(Claims, EngineCase):
    command = ('./go_app',)
    answer = b'hello from go'
    logged = 'go listens on'

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.program = pathlib.Path(folder.name, 'go_app')
        subprocess.run(['go', 'build', '-o', cls.program, APPS / 'app.go'], check=True, timeout=COMPILE_SECONDS,
                       env={**os.environ, **PLACES, 'HOME': folder.name, 'GOCACHE': f'{folder.name}/cache'})

    def setUp(self):
        super().setUp()
        (self.home.path / 'go_app').symlink_to(self.program)


class Java(Claims, EngineCase):
    """`java` compiles a single file by itself."""

    command = ('java', 'App.java')
    answer = b'hello from java'
    logged = 'java listens on'


if __name__ == '__main__':
    unittest.main()
