"""An HTTP/2 client on asyncio and Debian's python3-h2, with the framing of a unary gRPC call."""

import asyncio

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

from h1_client import CONNECT_SECONDS, RACE_SECONDS, NotListening, told
from lateness import Stopwatch
from records import ABORTED, UNTAKEN, WRONG

REFUSED_STREAM = int(h2.errors.ErrorCodes.REFUSED_STREAM)
GRPC_PREFIX = 5
TIMEOUT, UPSTREAM = 'timeout', 'upstream'


def outlive_goaway(connection):
    """Debian's h2 takes every GOAWAY for the end of the connection; for the streams that the other
    side has taken it is none (RFC 9113 6.8)."""
    machine = connection.state_machine
    opened = h2.connection.ConnectionState.CLIENT_OPEN
    told = (opened, h2.connection.ConnectionInputs.RECV_GOAWAY)
    machine._transitions = {**machine._transitions, told: (None, opened)}


class Stream:
    """What has come on one stream, and what still has to go."""

    def __init__(self, body):
        self.unsent = body
        self.over = asyncio.get_running_loop().create_future()
        self.asked = None           # Stopwatch: since it was sent
        self.failure = ''           # why it was cut
        self.unprocessed = False    # the other side reports that it did not take it
        self.headers = {}
        self.trailers = {}
        self.data = b''

    def finish(self, failure='', unprocessed=False):
        if not self.over.done():
            self.failure, self.unprocessed = failure, unprocessed
            self.over.set_result(None)


class H2Connection(asyncio.Protocol):
    """One connection to a door; streams of many requests."""

    def __init__(self):
        config = h2.config.H2Configuration(client_side=True, header_encoding='utf-8',
                                           validate_outbound_headers=False)
        self.h2 = h2.connection.H2Connection(config)
        outlive_goaway(self.h2)
        self.streams = {}
        self.usable = True
        self.transport = None
        self.goaway = False

    @classmethod
    async def open(cls, address):
        host, port = address.rsplit(':', 1)
        loop = asyncio.get_running_loop()
        try:
            made = loop.create_connection(cls, host, int(port))
            return (await asyncio.wait_for(made, CONNECT_SECONDS))[1]
        except (OSError, asyncio.TimeoutError) as error:
            raise NotListening(repr(error)) from error

    def connection_made(self, transport):
        self.transport = transport
        self.h2.initiate_connection()
        self.flush()

    def data_received(self, data):
        try:
            for event in self.h2.receive_data(data):
                self.take(event)
        except h2.exceptions.ProtocolError as error:
            self.cut(f'they broke the protocol: {error!r}')
        self.flush()

    def connection_lost(self, error):
        self.cut(f'connection lost: {error!r}{" after GOAWAY" if self.goaway else ""}')

    def cut(self, why):
        self.usable = False
        for stream in self.streams.values():
            stream.finish(why)
        self.transport.close()

    def take(self, event):
        if isinstance(event, h2.events.ConnectionTerminated):
            self.usable = False
            self.goaway = True
            for number, stream in self.streams.items():
                if number > event.last_stream_id:
                    stream.finish('GOAWAY', unprocessed=True)
            return
        if isinstance(event, h2.events.WindowUpdated):
            self.send_bodies()
            return
        stream = self.streams.get(getattr(event, 'stream_id', None))
        if stream is None:
            return
        if isinstance(event, h2.events.ResponseReceived):
            stream.headers = dict(event.headers)
        elif isinstance(event, h2.events.TrailersReceived):
            stream.trailers = dict(event.headers)
        elif isinstance(event, h2.events.DataReceived):
            stream.data += event.data
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            stream.finish()
        elif isinstance(event, h2.events.StreamReset):
            stream.finish(f'stream reset {int(event.error_code)}',
                          unprocessed=int(event.error_code) == REFUSED_STREAM)

    def flush(self):
        data = self.h2.data_to_send()
        if data and not self.transport.is_closing():
            self.transport.write(data)

    def send_bodies(self):
        for number, stream in self.streams.items():
            while stream.unsent and not stream.over.done():
                size = min(len(stream.unsent), self.h2.local_flow_control_window(number),
                           self.h2.max_outbound_frame_size)
                if size <= 0:
                    break
                part, stream.unsent = stream.unsent[:size], stream.unsent[size:]
                self.h2.send_data(number, part, end_stream=not stream.unsent)

    async def request(self, headers, body, lateness):
        """The Stream once it has ended or was cut."""
        if not self.usable:  # it ended while its first user was still on the way here
            raise NotListening('closed as soon as it was open')
        number = self.h2.get_next_available_stream_id()
        stream = Stream(body)
        stream.asked = Stopwatch(lateness)
        self.h2.send_headers(number, headers, end_stream=not body)
        self.streams[number] = stream
        self.send_bodies()
        self.flush()
        try:
            await stream.over
            return stream
        finally:
            if stream.over.cancelled():
                self.leave(number)
            del self.streams[number]

    def leave(self, number):
        """The client gives the stream up."""
        try:
            self.h2.reset_stream(number, h2.errors.ErrorCodes.CANCEL)
            self.flush()
        except h2.exceptions.ProtocolError:
            pass  # it has ended meanwhile

    def close(self):
        self.usable = False
        self.transport.close()


async def exchange(connection, ask, attempt, door):
    """One request, or one gRPC call when `ask.grpc`, and its answer."""
    headers = [(':method', 'POST' if ask.body or ask.grpc else 'GET'), (':scheme', 'http'),
               (':path', '/soak.Soak/Call' if ask.grpc else f'/{ask.id}'),
               (':authority', ask.host), *((name.lower(), value) for name, value in ask.headers)]
    body = ask.body
    if ask.grpc:
        headers += [('content-type', 'application/grpc'), ('te', 'trailers')]
        body = b'\0' + len(body).to_bytes(4, 'big') + body
    elif body:
        headers.append(('content-length', str(len(body))))
    try:
        stream = await connection.request(headers, body, door.lateness)
    except h2.exceptions.ProtocolError as error:  # the connection ended before the request began
        attempt.outcome, attempt.note = UNTAKEN, f'closed before it was sent: {error!r}'
        return
    if stream.failure:
        # A write to a connection that the door has just closed loses the GOAWAY that came before it.
        held = stream.asked.seconds()
        raced = door.closing and not stream.headers and held < RACE_SECONDS
        attempt.outcome = UNTAKEN if stream.unprocessed or raced else ABORTED
        attempt.note = f'{stream.failure}: {held:.3f} s after it was sent'
        return
    status = int(stream.headers.get(':status', 0))
    if ask.grpc and status == 200:
        grpc_told(attempt, stream)
    else:
        told(attempt, status, stream.headers, stream.data)


def grpc_told(attempt, stream):
    """Enters how a call ended. An error of ours is in the one block of headers, with its cause."""
    said = {**stream.headers, **stream.trailers}
    status = said.get('grpc-status', '')
    if status == '0':
        size = int.from_bytes(stream.data[1:GRPC_PREFIX], 'big')
        message = stream.data[GRPC_PREFIX:]
        told(attempt, 200, stream.headers, message)
        if len(message) != size:
            attempt.outcome, attempt.note = WRONG, f'a message of {len(message)} bytes, not {size}'
        return
    cause = said.get('sluice-error', '').split(';')[0].strip()
    http = {TIMEOUT: 504, UPSTREAM: 502}.get(cause, 503)
    told(attempt, http, said, f"grpc-status {status} {said.get('grpc-message', '')}".encode())
