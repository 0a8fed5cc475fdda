"""grpcio: /test.Echo/Say answers with its message, /test.Echo/Slow does so after a second."""

import os
import threading
from concurrent import futures

import grpc


def say(message, _):
    return message


def slow(message, _):
    threading.Event().wait(1)
    return message


server = grpc.server(futures.ThreadPoolExecutor())
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler('test.Echo', {
    'Say': grpc.unary_unary_rpc_method_handler(say),
    'Slow': grpc.unary_unary_rpc_method_handler(slow),
})])
server.add_insecure_port(f"127.0.0.1:{os.environ['PORT']}")
server.start()
print('grpc serves', flush=True)
server.wait_for_termination()
