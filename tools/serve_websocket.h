// WebSocket echo, for the tests of a proxy that must let upgrades through.
#pragma once

#include "net_socket.h"
#include "serve_request.h"

namespace loadline::tools {

bool is_websocket_upgrade(const RequestReader& request);

// Accepts the upgrade and sends every message back until the other side closes.
void echo_websocket(Tcp::socket socket, const RequestReader& request);

}  // namespace loadline::tools
