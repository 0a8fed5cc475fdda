"""Autoscalers that a test plays: Knative's WebSocket door, and our own stream over gRPC."""

import base64
import hashlib
import socket
import struct
import threading

import h2.config
import h2.connection
import h2.events
import h2.exceptions

from listening import Listening
from protowire import field, parse, parse_wire_stats
from queue_proxy.websocket import BINARY, CLOSE, MAGIC, PING, PONG, frame, read_frame
from wire import PATIENCE, Reader


class Door:
    """A listener whose connections are served by a thread each."""

    def __init__(self, port=0, host='127.0.0.1'):
        self.changed = threading.Condition()
        self.sockets = []
        self.listening = Listening(self.take, port, host)
        self.port = self.listening.port
        self.address = f'{host}:{self.port}'

    def take(self, sock):
        self.sockets.append(sock)
        threading.Thread(target=self.serve_quietly, args=(sock,), daemon=True).start()

    def serve_quietly(self, sock):
        try:
            self.serve(sock)
        except OSError:
            pass
        finally:
            sock.close()
            self.note(lambda: None)

    def note(self, change):
        with self.changed:
            change()
            self.changed.notify_all()

    def wait(self, condition, what, seconds=PATIENCE):
        with self.changed:
            if not self.changed.wait_for(condition, seconds):
                raise AssertionError(f'after {seconds} s still not: {what}')
            return condition()

    def cut(self):
        """Ends every connection; new ones are taken."""
        for sock in self.sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.sockets.clear()

    def close(self):
        self.listening.stop()
        self.cut()


class KnativeAutoscaler(Door):
    """Takes frames of stats; `silent` answers no ping."""

    def __init__(self, port=0, silent=False):
        self.silent = silent
        self.connections = 0
        self.pings = 0
        self.request = b''
        self.frames = []  # of [(namespace, name, {field: value})]
        super().__init__(port)

    def serve(self, sock):
        reader = Reader(sock)
        head = reader.until(b'\r\n\r\n')
        if head is None:
            return
        key = next(line.split(b':')[1].strip() for line in head.split(b'\r\n')
                   if line.lower().startswith(b'sec-websocket-key'))
        proof = base64.b64encode(hashlib.sha1(key + MAGIC).digest())
        sock.sendall(b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n'
                     b'Connection: Upgrade\r\nSec-WebSocket-Accept: ' + proof + b'\r\n\r\n')
        self.request = head
        self.note(lambda: setattr(self, 'connections', self.connections + 1))
        while (got := read_frame(reader)) is not None:
            opcode, payload, _ = got
            if opcode == PING:
                self.note(lambda: setattr(self, 'pings', self.pings + 1))
                if not self.silent:
                    sock.sendall(frame(PONG, payload, masked=False))
            elif opcode == BINARY:
                got_stats = parse_wire_stats(payload)
                self.note(lambda stats=got_stats: self.frames.append(stats))
            elif opcode == CLOSE:
                return

    def restart(self):
        """Tells every client to come back, as an autoscaler that shuts down does (1012)."""
        for sock in self.sockets:
            sock.sendall(frame(CLOSE, struct.pack('>H', 1012) + b'Restarting', masked=False))

    def figures(self, name):
        """(average concurrency, count) told for revision `name`, in order."""
        return [(stat.get(2, 0.0), stat.get(4, 0.0)) for one in list(self.frames)
                for _, told, stat in one if told == name]


class StreamAutoscaler(Door):
    """The autoscaler's end of protocols.md 3: welcomes, takes stats, sends states."""

    def __init__(self, port=0, protocol=1, host='127.0.0.1'):
        self.protocol = protocol
        self.hellos = []
        self.batches = []  # (stats, {revision: requests held})
        self.applied = []  # (revision, version)
        self.states = {}   # the snapshot: revision -> message
        self.version = 0
        self.streams = []  # (connection, stream, socket)
        self.lock = threading.RLock()
        super().__init__(port, host)

    def serve(self, sock):
        connection = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding='utf-8'))
        connection.initiate_connection()
        sock.sendall(connection.data_to_send())
        taken = b''
        while data := sock.recv(65536):
            with self.lock:
                for event in connection.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        connection.send_headers(event.stream_id, [
                            (':status', '200'), ('content-type', 'application/grpc')])
                    elif isinstance(event, h2.events.DataReceived):
                        taken += event.data
                        connection.acknowledge_received_data(
                            event.flow_controlled_length, event.stream_id)
                        taken = self.take_messages(connection, event.stream_id, sock, taken)
                sock.sendall(connection.data_to_send())

    def take_messages(self, connection, stream, sock, taken):
        while len(taken) >= 5:
            size = struct.unpack('>I', taken[1:5])[0]
            if len(taken) < 5 + size:
                break
            self.heard(connection, stream, sock, parse(taken[5:5 + size]))
            taken = taken[5 + size:]
        return taken

    def heard(self, connection, stream, sock, message):
        if 1 in message:
            self.send_on(connection, stream, field(1, field(1, self.protocol) + field(2, 'fake')
                                                   + field(3, 'test')))
            for state in self.states.values():
                self.send_on(connection, stream, field(2, state))
            self.send_on(connection, stream, field(4, field(1, len(self.states))))
            hello = parse(message[1][0])
            self.streams.append((connection, stream, sock))
            self.note(lambda: self.hellos.append(hello))
        elif 2 in message:
            batch = parse(message[2][0])
            told = parse_wire_stats(b''.join(field(1, one) for one in batch.get(2, [])))
            held = {}
            for one in batch.get(3, []):
                entry = parse(one)
                held[parse(entry[1][0])[2][0].decode()] = entry.get(2, [0])[0]
            self.note(lambda: self.batches.append((told, held)))
        elif 3 in message:
            applied = parse(message[3][0])
            name = parse(applied[1][0])[2][0].decode()
            self.note(lambda: self.applied.append((name, applied.get(2, [0])[0])))

    @staticmethod
    def send_on(connection, stream, message):
        connection.send_data(stream, b'\0' + struct.pack('>I', len(message)) + message)

    def tell(self, name='app', space='default', desired=1, granted=None, cannot=None, avoid=()):
        """Sends, and keeps for later comers, one RevisionState; `cannot` = (reason, detail, ms)."""
        self.version += 1
        state = field(1, field(1, space) + field(2, name)) + field(2, self.version)
        state += field(3, desired) + field(4, desired if granted is None else granted) + field(6, 1)
        state += field(7, 1)
        if cannot is not None:
            state += field(8, field(1, cannot[0]) + field(2, cannot[1]) + field(3, cannot[2]))
        for dest in avoid:
            state += field(9, dest)
        self.states[(space, name)] = state
        with self.lock:
            for connection, stream, sock in self.streams:
                try:
                    self.send_on(connection, stream, field(2, state))
                    sock.sendall(connection.data_to_send())
                except (OSError, h2.exceptions.ProtocolError):
                    pass
        return self.version

    def cut(self):
        self.streams.clear()
        super().cut()
