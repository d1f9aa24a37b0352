// Three services in a row, over real sockets: the first asks the second, the second the third. When
// the first leaves, the others stop working for nobody; and each knows what is left of the
// deadline.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "door_box.h"

namespace loadline::threads::test {
namespace {

using SteadyClock = std::chrono::steady_clock;
using namespace std::chrono_literals;

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }

  [[nodiscard]] int fd() const { return fd_; }
  void hang_up() const { shutdown(fd_, SHUT_RDWR); }

  void say(const std::string& line) const {
    const std::string text = line + "\n";
    ASSERT_EQ(send(fd_, text.data(), text.size(), MSG_NOSIGNAL), ssize_t(text.size()));
  }
  // Empty at the end.
  [[nodiscard]] std::string hear() const {
    std::string line;
    for (char c = 0; recv(fd_, &c, 1, 0) == 1 && c != '\n';) {
      line += c;
    }
    return line;
  }

 private:
  int fd_ = -1;
};

Socket connect_to(std::uint16_t port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(socket.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return socket;
}

// Says who has gone: the caller's end of a connection, watched while the work is done.
class Watch {
 public:
  explicit Watch(const Socket& connection)
      : connection_(connection), thread_([this] {
          char c = 0;
          if (recv(connection_.fd(), &c, 1, 0) <= 0) {
            caller_.request_stop();
          }
        }) {}
  ~Watch() {
    connection_.hang_up();
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  [[nodiscard]] std::stop_token caller() const { return caller_.get_token(); }

 private:
  const Socket& connection_;
  std::stop_source caller_;
  std::thread thread_;
};

// A thread a connection, behind a gate. A request is a line: the nanoseconds that are left of its
// deadline.
class Service {
 public:
  using Work = std::function<void(Permit&)>;

  explicit Service(Work work) : work_(std::move(work)) {
    opened_ = Doorkeeper::open(policy_of(8));
    EXPECT_TRUE(opened_.door);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_.fd(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_.fd(), 64), 0);
    EXPECT_EQ(getsockname(listener_.fd(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    accepts_ = std::thread([this] {
      for (int fd = accept(listener_.fd(), nullptr, nullptr); fd >= 0;
           fd = accept(listener_.fd(), nullptr, nullptr)) {
        connections_.emplace_back([this, fd] { serve(Socket(fd)); });
      }
    });
  }
  ~Service() {
    listener_.hang_up();
    accepts_.join();
    for (std::thread& connection : connections_) {
      connection.join();
    }
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  void serve(const Socket& connection) {
    const std::chrono::nanoseconds left(std::stoll(connection.hear()));
    const Watch watch(connection);
    Answer answer = opened_.door.acquire(opened_.door.request(left), watch.caller());
    ASSERT_TRUE(answer);
    work_(answer.permit);
  }

  Work work_;
  Opened opened_;
  Socket listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port_ = 0;
  std::thread accepts_;
  std::vector<std::thread> connections_;
};

// Pieces of work, with a look at the permit between them.
void work_for(std::chrono::nanoseconds time, const Permit& permit) {
  const auto end = SteadyClock::now() + time;
  while (SteadyClock::now() < end && !permit.cancelled()) {
    std::this_thread::yield();
  }
}

// What happened on another thread, and when; or how much was left.
class Noted {
 public:
  void note(std::chrono::nanoseconds what) { ns_.store(what.count()); }
  void note_now() { note(SteadyClock::now().time_since_epoch()); }
  std::chrono::nanoseconds get() {
    EXPECT_TRUE(within_ten_seconds([this] { return ns_.load() != 0; }));
    return std::chrono::nanoseconds(ns_.exchange(0));
  }

 private:
  std::atomic<std::int64_t> ns_{0};
};

struct Chain : testing::Test {
  static constexpr std::chrono::nanoseconds kPatience = 30s;
  static constexpr std::chrono::nanoseconds kOwnWork = 20ms;

  Noted third_got;
  Noted third_stopped;
  Noted second_stopped;

  Service third{[this](Permit& permit) {
    third_got.note(to_chrono(permit.remaining()));
    work_for(kPatience, permit);
    third_stopped.note_now();
  }};
  Service second{[this](Permit& permit) {
    work_for(kOwnWork, permit);
    const Socket next = connect_to(third.port());
    next.say(std::to_string(permit.remaining().ns));
    work_for(kPatience, permit);
    EXPECT_TRUE(permit.cancelled());
    second_stopped.note_now();
  }};
};

// The one figure here that is a time: what a person would notice. One leaving among many may meet a
// busy machine, so it is the middle one of eleven that counts.
TEST_F(Chain, TheMiddleStopsWhenItsCallerLeavesAndSoDoesTheLast) {
  std::vector<std::chrono::nanoseconds> second_took;
  std::vector<std::chrono::nanoseconds> third_took;
  for (int i = 0; i < 11; ++i) {
    Socket first = connect_to(second.port());
    first.say(std::to_string(kPatience.count()));
    third_got.get();
    const std::chrono::nanoseconds left = SteadyClock::now().time_since_epoch();
    first = Socket();
    second_took.push_back(second_stopped.get() - left);
    third_took.push_back(third_stopped.get() - left);
  }
  for (auto* took : {&second_took, &third_took}) {
    std::nth_element(took->begin(), took->begin() + 5, took->end());
    EXPECT_LT((*took)[5], 50ms);
  }
}

TEST_F(Chain, TheLastSeesWhatIsLeftOfTheDeadline) {
  const Socket first = connect_to(second.port());
  first.say(std::to_string(kPatience.count()));
  const std::chrono::nanoseconds left = third_got.get();
  EXPECT_LE(left, kPatience - kOwnWork);
  EXPECT_GT(left, 0ns);
  first.hang_up();
  second_stopped.get();
}

}  // namespace
}  // namespace loadline::threads::test
