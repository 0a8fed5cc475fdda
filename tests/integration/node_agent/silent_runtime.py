"""The runtime of a laboratory as one that reports nothing by itself: every call is passed on but those for its events."""

import concurrent.futures

import grpc

EVENTS = ('/GetContainerEvents', '/Subscribe')
OPTIONS = [('grpc.max_receive_message_length', 16 << 20)]


class SilentRuntime(grpc.GenericRpcHandler):
    """Listens at `endpoint` until it is closed."""

    def __init__(self, lab):
        self.endpoint = f'unix://{lab.folder}/silent.sock'
        self.channel = grpc.insecure_channel(lab.endpoint, options=OPTIONS)
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(8), options=OPTIONS)
        self.server.add_generic_rpc_handlers([self])
        self.server.add_insecure_port(self.endpoint)
        self.server.start()

    def service(self, handler_call_details):
        if handler_call_details.method.endswith(EVENTS):
            return None  # UNIMPLEMENTED
        call = self.channel.unary_unary(handler_call_details.method)

        def passed_on(request, context):
            words = [(key, value) for key, value in context.invocation_metadata() if key.startswith('containerd-')]
            try:
                return call(request, metadata=words, timeout=context.time_remaining())
            except grpc.RpcError as problem:
                return context.abort(problem.code(), problem.details())

        return grpc.unary_unary_rpc_method_handler(passed_on)

    def close(self):
        self.server.stop(None).wait()
        self.channel.close()
