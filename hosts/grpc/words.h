// Between gRPC's words and the client half's.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <map>

#include "loadline/client/caller.h"

namespace loadline::grpc {

using Metadata = std::multimap<::grpc::string_ref, ::grpc::string_ref>;

// Of a call that has ended, and its trailing metadata.
client::Answer answer_of(const ::grpc::Status& status, const Metadata& trailing) noexcept;

// What a call that was not sent ends with.
::grpc::Status status_of(client::Reason reason);

// The deadline of a call as its context has it.
Instant deadline_of(const ::grpc::ClientContext& context) noexcept;
// As a context takes it; `left` is not Duration::max().
std::chrono::system_clock::time_point wall_time_after(Duration left) noexcept;

}  // namespace loadline::grpc
