"""An HTTP/2 client and a container that speaks it, on Debian's python3-h2: a strict reader of what
the sidecar sends."""

import contextlib
import socket
import threading

import h2.config
import h2.connection
import h2.events
import h2.exceptions

from listening import Listening
from wire import PATIENCE, connect


class Stream:
    """What one side has received on a stream so far."""

    def __init__(self, number):
        self.number = number
        self.interim = []  # of headers
        self.headers = None
        self.data = b''
        self.received = 0  # bytes of data, also when they are not kept
        self.trailers = None
        self.ended = False
        self.reset = None  # error code

    @property
    def status(self):
        return int(self.headers[':status']) if self.headers else None


class Peer:
    """One connection; a thread reads it, all others wait for what it has received."""

    def __init__(self, sock, client, keep_data=True, acknowledge=True, settings=None, mute=False):
        self.sock = sock
        self.mute = mute  # reads and sends nothing, not even its settings, until speak()
        self.keep_data = keep_data
        self.acknowledge = acknowledge
        self.changed = threading.Condition()
        self.streams = {}
        self.goaway = None  # (last stream, error code)
        self.closed = False
        self.pings = 0
        self.failure = None  # what the sidecar sent that it may not send
        config = h2.config.H2Configuration(client_side=client, header_encoding='utf-8')
        self.h2 = h2.connection.H2Connection(config)
        self.h2.initiate_connection()
        if settings:  # in force once acknowledged, as with any server
            self.h2.update_settings(settings)
        self.flush()
        threading.Thread(target=self.read, daemon=True).start()

    def speak(self):
        with self.changed:
            self.mute = False
            self.flush()

    def flush(self):
        data = b'' if self.mute else self.h2.data_to_send()
        if data:
            try:
                self.sock.sendall(data)
            except OSError:
                pass

    def read(self):
        while True:
            try:
                data = self.sock.recv(1 << 18)
            except OSError:
                data = b''
            with self.changed:
                if not data:
                    self.closed = True
                    self.changed.notify_all()
                    return
                try:
                    for event in self.h2.receive_data(data):
                        self.take(event)
                except h2.exceptions.ProtocolError as error:
                    self.failure = error
                self.flush()
                self.changed.notify_all()

    def take(self, event):
        stream = self.streams.get(getattr(event, 'stream_id', None))
        if isinstance(event, h2.events.InformationalResponseReceived):
            stream.interim.append(dict(event.headers))
        elif isinstance(event, (h2.events.ResponseReceived, h2.events.RequestReceived)):
            if stream is None:
                stream = self.streams[event.stream_id] = Stream(event.stream_id)
                stream.headers = joined(event.headers)
                self.arrived(stream)
            stream.headers = joined(event.headers)
        elif isinstance(event, h2.events.DataReceived):
            stream.received += len(event.data)
            if self.keep_data:
                stream.data += event.data
            if self.acknowledge and event.flow_controlled_length:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.TrailersReceived):
            stream.trailers = dict(event.headers)
        elif isinstance(event, h2.events.StreamEnded):
            stream.ended = True
        elif isinstance(event, h2.events.StreamReset):
            stream.reset = int(event.error_code)
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.goaway = (event.last_stream_id, int(event.error_code))
        elif isinstance(event, h2.events.PingAckReceived):
            self.pings += 1

    def arrived(self, stream):
        """A container starts its play here."""

    def wait(self, condition, what, seconds=PATIENCE):
        with self.changed:
            if not self.changed.wait_for(lambda: condition() or self.failure, seconds):
                raise AssertionError(f'after {seconds} s still not: {what}')
            if self.failure:
                raise AssertionError(f'the sidecar broke the protocol: {self.failure!r}')

    def send_headers(self, stream, headers, end=False):
        with self.changed:
            self.h2.send_headers(stream, list(headers), end_stream=end)
            self.flush()

    def send_data(self, stream, data, end=False, seconds=PATIENCE):
        """Sends within the windows the other side gives; waits for them."""
        while True:
            with self.changed:
                if data and not self.changed.wait_for(
                        lambda: self.closed or self.h2.local_flow_control_window(stream) > 0, seconds):
                    raise AssertionError('no window opened for more data')
                if self.closed:
                    raise ConnectionError('closed while sending')
                size = min(len(data), self.h2.local_flow_control_window(stream),
                           self.h2.max_outbound_frame_size)
                part, data = data[:size], data[size:]
                self.h2.send_data(stream, part, end_stream=end and not data)
                self.flush()
                if not data:
                    return

    def reset(self, stream, code=8):
        with self.changed:
            self.h2.reset_stream(stream, code)
            self.flush()

    def ping(self):
        """Asks and waits: everything sent before has been read when it returns."""
        with self.changed:
            before = self.pings
            self.h2.ping(b'12345678')
            self.flush()
        self.wait(lambda: self.pings > before or self.closed, 'a ping is answered')

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()


def joined(headers):
    """Headers as a dictionary; what came twice is joined with a comma."""
    made = {}
    for name, value in headers:
        made[name] = f'{made[name]}, {value}' if name in made else value
    return made


class Client(Peer):
    def __init__(self, address, **options):
        super().__init__(connect(address), True, **options)

    def request(self, path='/', headers=(), method='GET', body=None, end=True, authority='app'):
        """Sends a request; returns its Stream at once. `end` false leaves it open for more."""
        with self.changed:
            number = self.h2.get_next_available_stream_id()
            stream = self.streams[number] = Stream(number)
            fields = [(':method', method), (':scheme', 'http'), (':path', path),
                      (':authority', authority), *headers]
            self.h2.send_headers(number, fields, end_stream=end and body is None)
            self.flush()
        if body is not None:
            with contextlib.suppress(h2.exceptions.StreamClosedError):  # answered before it is all sent
                self.send_data(number, body, end)
        return stream

    def over(self, stream):
        """The stream once it has ended, however that was."""
        self.wait(lambda: stream.ended or stream.reset is not None or self.closed,
                  f'stream {stream.number} is over')
        return stream

    def get(self, path='/', headers=(), **options):
        return self.over(self.request(path, headers, **options))


class ContainerConnection(Peer):
    def __init__(self, sock, container):
        self.container = container
        super().__init__(sock, False, **container.options)

    def arrived(self, stream):
        stream.peer = self
        with self.container.lock:
            self.container.seen.append(stream)
        threading.Thread(target=self.play, args=(stream,), daemon=True).start()

    def play(self, stream):
        try:
            self.container.play(self, stream)
        except (OSError, h2.exceptions.ProtocolError, KeyError):
            pass  # the stream or its connection has ended meanwhile

    def body(self, stream):
        self.wait(lambda: stream.ended or stream.reset is not None or self.closed, 'the body ends')
        return stream.data

    def answer(self, stream, body=b'ok', status=200, headers=(), trailers=()):
        self.send_headers(stream.number, [(':status', str(status)), *headers],
                          end=not body and not trailers)
        if body:
            self.send_data(stream.number, body, end=not trailers)
        if trailers:
            self.send_headers(stream.number, trailers, end=True)


class Container:
    """A container that speaks HTTP/2 by prior knowledge; `play(connection, stream)` answers each
    request on a thread of its own."""

    def __init__(self, play, port=0, **options):
        self.play = play
        self.options = options
        self.seen = []  # of Stream
        self.connections = []
        self.lock = threading.Lock()
        self.listening = Listening(lambda sock: self.connections.append(ContainerConnection(sock, self)),
                                   port)
        self.port = self.listening.port

    def close(self):
        self.listening.stop()
        for connection in self.connections:
            connection.close()
