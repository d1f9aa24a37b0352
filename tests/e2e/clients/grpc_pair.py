"""A gRPC service and its caller, as the real library makes them: no generated code, raw bytes.

  grpc_pair.py serve                    listens on a free port, prints it; /test.Echo/Say answers with
                                        what it got, /test.Echo/Sleep after so many milliseconds
  grpc_pair.py call PORT METHOD TEXT [NAME=VALUE...]
                                        prints the status's name and, if there is one, the pushback
"""

import sys
import time
from concurrent import futures

import grpc

PUSHBACK = "grpc-retry-pushback-ms"


class Echo(grpc.GenericRpcHandler):
    def service(self, handler_call_details: grpc.HandlerCallDetails):
        def answer(request: bytes, _: grpc.ServicerContext) -> bytes:
            if handler_call_details.method.endswith("/Sleep"):
                time.sleep(int(request) / 1000)
            return request

        return grpc.unary_unary_rpc_method_handler(answer)


def serve() -> None:
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16), handlers=[Echo()])
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    server.wait_for_termination()


def call(port: str, method: str, text: str, *metadata: str) -> None:
    # Without retries of its own, which the service's pushback would steer.
    options = [("grpc.enable_retries", 0)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options) as channel:
        try:
            answer, done = channel.unary_unary(f"/test.Echo/{method}").with_call(
                text.encode(), timeout=10, metadata=[tuple(m.split("=", 1)) for m in metadata]
            )
            print("OK", answer.decode(), done.details() or "")
        except grpc.RpcError as error:
            pushback = dict(error.trailing_metadata() or ()).get(PUSHBACK, "")
            print(error.code().name, pushback, error.details())


if __name__ == "__main__":
    {"serve": serve, "call": call}[sys.argv[1]](*sys.argv[2:])
