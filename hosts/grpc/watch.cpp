// An interceptor that tells a Caller how each call on a channel went.
#include "loadline/grpc.h"
#include "words.h"

namespace loadline::grpc {
namespace {

using ::grpc::experimental::InterceptionHookPoints;
using ::grpc::experimental::InterceptorBatchMethods;

// One call. gRPC asks about one batch of it at a time.
class Watcher final : public ::grpc::experimental::Interceptor {
 public:
  Watcher(client::Caller& caller, const ::grpc::ClientContext& context) noexcept
      : caller_(caller), context_(context) {}
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() override { end({.ended = client::Ended::cancelled}); }  // nobody asked for its status

  void Intercept(InterceptorBatchMethods* batch) override {
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA) &&
        !begin()) {
      batch->Hijack();
      return;
    }
    if (!start_.send()) {
      answer_ourselves(batch);
    } else if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_STATUS)) {
      end(answer_of(*batch->GetRecvStatus(), *batch->GetRecvTrailingMetadata()));
    }
    batch->Proceed();
  }

 private:
  bool begin() {
    call_ = client::Call(deadline_of(context_));
    start_ = caller_.begin(call_, now());
    return start_.send();
  }

  // What would have been received from one who was never asked.
  void answer_ourselves(InterceptorBatchMethods* batch) {
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_RECV_MESSAGE)) {
      batch->FailHijackedRecvMessage();
    }
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_RECV_STATUS)) {
      *batch->GetRecvStatus() = status_of(start_.reason);
    }
  }

  void end(const client::Answer& answer) noexcept {
    if (!start_.attempt.running()) {
      return;
    }
    caller_.ended(call_, start_.attempt, answer, now());
    caller_.abandon(call_, now());  // of a retry that the policy would have made
  }

  client::Caller& caller_;
  const ::grpc::ClientContext& context_;
  client::Call call_;
  client::Start start_;
};

}  // namespace

::grpc::experimental::Interceptor* Watch::CreateClientInterceptor(
    ::grpc::experimental::ClientRpcInfo* info) {
  return new Watcher(caller_, *info->client_context());
}

}  // namespace loadline::grpc
