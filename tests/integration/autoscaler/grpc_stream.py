"""A client of one gRPC call over HTTP/2, played by hand."""

import select
import ssl
import struct
import threading

import h2.config
import h2.connection
import h2.events

from wire import PATIENCE, Deadline, connect

TLS_READ_SECONDS = 1


class GrpcStream:
    """One call, open both ways; messages go to `hear(bytes)` as they are read. Usable from several threads.

    `tls`: an ssl.SSLContext.
    """

    def __init__(self, address, method, tls=None):
        self.sock = connect(address)
        if tls is not None:
            self.sock = tls.wrap_socket(self.sock, server_hostname='autoscaler')
            self.sock.settimeout(TLS_READ_SECONDS)
        self.lock = threading.Lock()
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        self.h2.initiate_connection()
        self.stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(self.stream, [
            (':method', 'POST'), (':scheme', 'http'), (':path', method), (':authority', 'autoscaler'),
            ('content-type', 'application/grpc'), ('te', 'trailers')])
        self.data = b''
        self.status = None  # of the call, once it has ended
        self.message = ''

    def say(self, message):
        with self.lock:
            self.h2.send_data(self.stream, b'\0' + struct.pack('>I', len(message)) + message)
            self.flush()

    def flush(self):
        data = self.h2.data_to_send()
        if data:
            self.sock.sendall(data)

    def wait(self, condition, what, seconds=PATIENCE):
        """Reads until condition(self)."""
        deadline = Deadline(seconds)
        while not condition(self):
            if deadline.passed():
                raise AssertionError(f'{what} did not come; it has {self.known()}')
            # In steps: what is waited for may come to another thread.
            if not self.read(min(0.1, deadline.left())) and not condition(self):
                raise AssertionError(f'the autoscaler closed the connection before {what}')
        return self

    def read(self, seconds):
        """Takes what comes within `seconds`, and answers pings; false when the connection has ended."""
        self.readable(seconds)
        with self.lock:
            if not self.readable(0):
                return True
            try:
                part = self.sock.recv(65536)
            except TimeoutError:  # TLS sent a record of its own, and no data
                return True
            for event in self.h2.receive_data(part):
                self.take(event)
            self.flush()
        return bool(part)

    def readable(self, seconds):
        if isinstance(self.sock, ssl.SSLSocket) and self.sock.pending():
            return True
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def take(self, event):
        if isinstance(event, h2.events.DataReceived):
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            self.data += event.data
            while len(self.data) >= 5:
                size = struct.unpack('>I', self.data[1:5])[0]
                if len(self.data) < 5 + size:
                    return
                message, self.data = self.data[5:5 + size], self.data[5 + size:]
                self.hear(message)
        elif isinstance(event, (h2.events.TrailersReceived, h2.events.ResponseReceived)):
            headers = {str(name, 'ascii') if isinstance(name, bytes) else name:
                       str(value, 'utf-8') if isinstance(value, bytes) else value
                       for name, value in event.headers}
            if 'grpc-status' in headers:
                self.status = int(headers['grpc-status'])
                self.message = headers.get('grpc-message', '')

    def known(self):
        """What failures should show."""
        return ''

    def hear(self, message):
        raise NotImplementedError

    def close(self):
        self.sock.close()
