#include "sim/server.h"

#include "sim/seconds.h"

namespace loadline::sim {

Server::Server(const ServerModel& model, EventLoop& loop, Owner& owner)
    : model_(model), loop_(loop), owner_(owner) {
  for (const auto& change : model.workers.changes()) {
    loop_.at<&Server::begin_waiting>(change.from, *this);
  }
}

void Server::take(AttemptId id, Duration work) {
  line_.push_back({id, work});
  begin_waiting(0);
}

void Server::begin(const Job& job) {
  ++busy_;
  loop_.at<&Server::finish>(reached(model_.speed, loop_.now(), seconds(job.work)), *this,
                            job.id.bits);
}

void Server::begin_waiting(std::uint64_t) {
  while (!line_.empty() && busy_ < model_.workers.at(loop_.now())) {
    const Job job = line_.front();
    line_.pop_front();
    begin(job);
  }
}

// The next in its own line goes before whatever its owner sends because of this.
void Server::finish(std::uint64_t id) {
  --busy_;
  begin_waiting(0);
  owner_.finished({id});
}

}  // namespace loadline::sim
