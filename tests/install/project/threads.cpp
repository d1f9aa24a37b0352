#include <loadline/threads.h>

int main() {
  loadline::Policy policy;
  policy.limit = 1;
  auto [door, error] = loadline::threads::Doorkeeper::open(policy);
  return door && door.acquire(door.request()) ? 0 : 1;
}
