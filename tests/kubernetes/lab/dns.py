"""Names of Services, as pods look them up: a small answerer of DNS, for there is no CoreDNS here.

    NAME.NAMESPACE.svc.cluster.local    A     the cluster's address of the Service, or, where it has none,
                                              those of its endpoints that are ready; of type ExternalName,
                                              a CNAME and what the other name leads to

Any other type of a known name has no answer; any other name is unknown, so that a resolver continues with its list of
domains. The API is read for each query; a query is one datagram.
"""

import ipaddress
import re
import socket
import struct
import threading

from lab.objects import addresses
from lab.place import NODE_IP

PORT = 53
DOMAIN = 'cluster.local'
DATAGRAM_MAX = 512
ADDRESSES_MAX = 11   # so many fit into a datagram beside the longest name and another one as long
TTL_SECONDS = 1
LOOK_SECONDS = 0.2
KIND_A, KIND_CNAME = 1, 5
CLASS_IN = 1
NO_ERROR, FORMAT_ERROR, SERVER_FAILURE, NAME_ERROR = 0, 1, 2, 3
ANSWER = 0x8580      # an answer, authoritative, recursion asked for and available
SERVICE = re.compile(r'([a-z0-9-]{1,63})\.([a-z0-9-]{1,63})\.svc\.' + re.escape(DOMAIN))


def question(packet):
    """(name in small letters, type, class, where the question ends), or None: that is none."""
    if len(packet) < 12 or struct.unpack('>H', packet[4:6])[0] != 1:
        return None
    labels, at = [], 12
    while at < len(packet) and (length := packet[at]) != 0:
        if length > 63 or at + 1 + length > len(packet):
            return None
        labels.append(packet[at + 1:at + 1 + length].decode('latin-1').lower())
        at += 1 + length
    end = at + 5
    if end > len(packet):
        return None
    kind, place = struct.unpack('>HH', packet[at + 1:end])
    return '.'.join(labels), kind, place, end


def written(name):
    return b''.join(bytes([len(label)]) + label.encode('ascii') for label in name.split('.')) + b'\0'


def record(owner, kind, told):
    """`owner` is the byte at which the name that it belongs to was written before."""
    return struct.pack('>HHHIH', 0xC000 | owner, kind, CLASS_IN, TTL_SECONDS, len(told)) + told


def answer(packet, look):
    """The datagram that answers `packet`; look(name) gives (another name or '', addresses), or None for an
    unknown name."""
    asked = question(packet)
    if asked is None:
        return packet[:2] + struct.pack('>HHHHH', ANSWER | FORMAT_ERROR, 0, 0, 0, 0)
    name, kind, place, end = asked
    found = look(name)
    code = NAME_ERROR if found is None else NO_ERROR
    other, told = found or ('', [])
    records, owner = [], 12
    if other and place == CLASS_IN:
        records.append(record(owner, KIND_CNAME, written(other)))
        owner = end + len(record(owner, KIND_CNAME, b''))
    if (kind, place) == (KIND_A, CLASS_IN):
        records += [record(owner, KIND_A, ipaddress.IPv4Address(one).packed) for one in told[:ADDRESSES_MAX]]
    head = packet[:2] + struct.pack('>HHHHH', ANSWER | code, 1, len(records), 0, 0)
    return head + packet[12:end] + b''.join(records)


class Names:
    """Answers on the node's address, on a thread of its own, until close()."""

    def __init__(self, api):
        self.api = api
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(LOOK_SECONDS)
        self.socket.bind((NODE_IP, PORT))
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.ending.is_set():
            try:
                packet, peer = self.socket.recvfrom(DATAGRAM_MAX)
            except socket.timeout:
                continue
            self.reply(packet, peer)

    def reply(self, packet, peer):
        try:
            said = answer(packet, self.look)
        except Exception:  # the API is unavailable; the client asks again
            said = packet[:2] + struct.pack('>HHHHH', ANSWER | SERVER_FAILURE, 0, 0, 0, 0)
        try:
            self.socket.sendto(said, peer)
        except OSError:
            pass  # a pod that is gone

    def look(self, name):
        """(The name that it is another for, addresses), or None."""
        found = self.service(name)
        if found is None:
            return None
        if found['spec']['type'] != 'ExternalName':
            return '', self.addresses(found)
        other = found['spec']['externalName'].rstrip('.')
        led = self.service(other)  # one step; what is no Service of here has no address here
        return other, self.addresses(led) if led else []

    def service(self, name):
        matched = SERVICE.fullmatch(name)
        return matched and self.api.find('/api/v1/namespaces/{1}/services/{0}'.format(*matched.groups()))

    def addresses(self, found):
        own = found['spec'].get('clusterIP', 'None')
        place = found['metadata']
        return [own] if own != 'None' else self.endpoints(place['namespace'], place['name'], found)

    def endpoints(self, namespace, service, found):
        slices = self.api.items(f'/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices'
                                f'?labelSelector=kubernetes.io%2Fservice-name%3D{service}')
        if not found['spec'].get('publishNotReadyAddresses'):
            return addresses(slices)
        return sorted(address for one in slices for endpoint in one.get('endpoints') or ()
                      for address in endpoint['addresses'])

    def close(self):
        self.ending.set()
        self.thread.join()
        self.socket.close()
