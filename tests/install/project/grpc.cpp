// Calls with gRPC what nobody serves.
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <loadline/grpc.h>

#include <cstdio>
#include <future>

using loadline::Duration;
namespace client = loadline::client;

namespace {

grpc::ByteBuffer nothing() {
  const grpc::Slice empty;
  return {&empty, 1};
}

// As a generated stub has it: blocks, with one context for each attempt.
struct Stub {
  explicit Stub(const std::shared_ptr<grpc::Channel>& channel) : generic(channel) {}

  grpc::Status Get(grpc::ClientContext* context, const grpc::ByteBuffer& request,
                   grpc::ByteBuffer* reply) {
    std::promise<grpc::Status> ended;
    generic.UnaryCall(context, "/shop.Catalogue/Get", grpc::StubOptions(), &request, reply,
                      [&](grpc::Status status) { ended.set_value(std::move(status)); });
    return ended.get_future().get();
  }

  grpc::GenericStub generic;
};

bool get(client::Caller& caller, Stub& stub, std::stop_token caller_has_left) {
  const grpc::ByteBuffer request = nothing();
  grpc::ByteBuffer reply;

  loadline::grpc::Ask ask;
  ask.deadline = loadline::grpc::now() + Duration::seconds(5);
  ask.kind = client::Call::idempotent;
  const loadline::grpc::Outcome outcome = loadline::grpc::call_with_retries(
      caller, ask,
      [&](grpc::ClientContext& context) { return stub.Get(&context, request, &reply); },
      caller_has_left);
  if (!outcome.answered()) {
    std::printf("%s after %d attempts: %s\n", name(outcome.ended).data(), outcome.attempts,
                name(outcome.reason).data());
  }
  return outcome.answered();
}

// Every call on this channel is counted, and none sent that the Caller refuses.
std::shared_ptr<grpc::Channel> watched_channel(client::Caller& caller, const char* target) {
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> watch;
  watch.push_back(std::make_unique<loadline::grpc::Watch>(caller));
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      target, grpc::InsecureChannelCredentials(), {}, std::move(watch));
}

}  // namespace

int main() {
  client::Policy policy;
  policy.backoff.base = Duration::millis(10);
  client::Caller caller(policy, loadline::grpc::now());  // one for each target, of all threads
  Stub stub(grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials()));
  const bool answered = get(caller, stub, {});

  policy.retry.attempts = 1;
  client::Caller counts(policy, loadline::grpc::now());
  grpc::ClientContext context;
  grpc::ByteBuffer reply;
  Stub(watched_channel(counts, "127.0.0.1:1")).Get(&context, nothing(), &reply);
  const bool counted = counts.snapshot(loadline::grpc::now()).counts.sent == 1;
  return !answered && counted ? 0 : 1;
}
