#include "nginx/variants.h"

#include <fmt/format.h>

namespace loadline::bench {
namespace {

constexpr int kRejected = 503;
const std::string kOverloaded = "overloaded\n";

// Adds what a log of decisions holds to what nginx's own format begins with.
const std::string kLogFormat =
    "  log_format decisions '$remote_addr [$time_local] \"$request\" $status $body_bytes_sent '\n"
    "    '$loadline_status $loadline_reason $loadline_wait $loadline_class';\n";
const std::string kLogged = "      access_log access.log decisions;\n";

std::string load_module(const Surroundings& around) {
  return fmt::format("load_module \"{}\";\n", around.module);
}

std::string keepalive_upstream(const Surroundings& around) {
  return fmt::format(
      "  upstream backend {{\n"
      "    server 127.0.0.1:{};\n"
      "    keepalive 512;\n"
      "    keepalive_requests 1000000000;\n"
      "  }}\n",
      around.upstream_port);
}

const std::string kProxied =
    "      proxy_pass http://backend;\n"
    "      proxy_http_version 1.1;\n"
    "      proxy_set_header Connection \"\";\n";

Variant returning_503(std::string name) {
  return {.name = std::move(name),
          .answer =
              "      default_type text/plain;\n"
              "      return 503 \"overloaded\\n\";\n",
          .status = kRejected,
          .body = kOverloaded};
}

Variant haproxy_returning_503() {
  return {.name = "haproxy_return",
          .software = Variant::Software::haproxy,
          .answer =
              "  http-request return status 503 content-type text/plain "
              "string \"overloaded\\n\" hdr Retry-After 1\n",
          .status = kRejected,
          .body = kOverloaded};
}

// The one slot of the gate is held by a request that hangs, and nobody may wait.
Variant rejecting(const Surroundings& around, std::string name) {
  const std::string hang = fmt::format("proxy_pass http://127.0.0.1:{};", around.blackhole_port);
  return {.name = std::move(name),
          .main = load_module(around),
          .http = "  loadline_gate bench:1m limit=1 queue=off;\n",
          .answer = fmt::format("      loadline bench;\n      {}\n", hang),
          .hold = "loadline bench; " + hang,
          .status = kRejected,
          .body = kOverloaded};
}

// All that a gate can be told, and all that a request can be asked as.
const std::string kEverythingInHttp =
    "  map $http_x_plan $standing { default critical; gold critical_plus; }\n"
    "  map $uri $work { default 1; ~^/report 20; }\n";
const std::string kEverythingAtTheGate =
    " wait=50ms order=adaptive guarantee=sheddable:5% heavy=40% tenants=1000 groups=free:5"
    " quota=100000r/s quota_burst=1000000 exempt=8 streams=1000 retry_after=1-32";
const std::string kEverythingAsked =
    "      loadline bench class=$standing deadline=5s weight=$work tenant=$http_x_api_key"
    " quota=$remote_addr;\n"
    "      loadline_trusted 10.0.0.0/8 192.168.0.0/16;\n"
    "      loadline_deadline_header X-Time-Left-Ms;\n"
    "      loadline_tenant_header X-Tenant;\n"
    "      loadline_exempt $loadline_preflight $http_x_probe;\n"
    "      loadline_bypass $http_x_internal;\n"
    "      loadline_lease 60s;\n"
    "      loadline_stream_after 30s;\n";

Variant rejecting_with_everything(const Surroundings& around, std::string name) {
  Variant variant = rejecting(around, std::move(name));
  variant.http =
      kEverythingInHttp + "  loadline_gate bench:4m limit=1 queue=1" + kEverythingAtTheGate + ";\n";
  variant.answer = kEverythingAsked + "      " +
                   fmt::format("proxy_pass http://127.0.0.1:{};\n", around.blackhole_port);
  return variant;
}

Variant plain_proxy(const Surroundings& around, std::string name) {
  return {.name = std::move(name),
          .http = keepalive_upstream(around),
          .answer = kProxied,
          .body = "ok\n"};
}

// The limit is far above wrk's connections, so everything is admitted at once.
Variant admitting_proxy(const Surroundings& around, std::string name) {
  Variant variant = plain_proxy(around, std::move(name));
  variant.main = load_module(around);
  variant.http += "  loadline_gate bench:1m limit=1000;\n";
  variant.answer = "      loadline bench;\n" + variant.answer;
  return variant;
}

Variant admitting_proxy_with_everything(const Surroundings& around, std::string name) {
  Variant variant = plain_proxy(around, std::move(name));
  variant.main = load_module(around);
  variant.http += kEverythingInHttp + "  loadline_gate bench:4m limit=1000 queue=1000" +
                  kEverythingAtTheGate + ";\n";
  variant.answer = kEverythingAsked + variant.answer;
  return variant;
}

Variant logged(Variant variant) {
  variant.http += kLogFormat;
  variant.answer += kLogged;
  return variant;
}

// Not `return`, which answers before a module could be asked: a content handler, and the cheapest.
Variant empty_gif(std::string name) {
  return {.name = std::move(name), .answer = "      empty_gif;\n"};
}

Variant switched_off(const Surroundings& around) {
  Variant variant = empty_gif("module_off");
  variant.main = load_module(around);
  variant.http = "  loadline_gate bench:1m limit=1000;\n";
  variant.answer = "      loadline off;\n" + variant.answer;
  return variant;
}

// Known to differ by one write and some formatting, so a method that sees nothing is caught.
Variant returning_503_logged() {
  Variant variant = returning_503("return_503_logged");
  variant.answer += "      access_log access.log;\n";
  return variant;
}

// With so few callers a server that is faster than wrk is idle in between, and is put to sleep and
// woken once for every few answers.
Variant with_few_callers(Variant variant) {
  constexpr int kFew = 64;
  variant.name += "_64";
  variant.connections = kFew;
  return variant;
}

}  // namespace

std::vector<Variant> make_variants(const Surroundings& around) {
  return {rejecting(around, "module_reject"),
          logged(rejecting(around, "module_reject_logged")),
          returning_503("return_503"),
          haproxy_returning_503(),
          admitting_proxy(around, "module_proxy"),
          logged(admitting_proxy(around, "module_proxy_logged")),
          plain_proxy(around, "plain_proxy"),
          switched_off(around),
          empty_gif("no_module"),
          rejecting_with_everything(around, "module_reject_everything"),
          admitting_proxy_with_everything(around, "module_proxy_everything"),
          with_few_callers(rejecting(around, "module_reject")),
          with_few_callers(haproxy_returning_503()),
          returning_503("return_503_again"),
          returning_503_logged(),
          plain_proxy(around, "plain_proxy_again")};
}

Variant upstream_variant() {
  return {.name = "upstream", .answer = "      return 200 \"ok\\n\";\n", .body = "ok\n"};
}

}  // namespace loadline::bench
