// loadline serve: a service to overload.
#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <memory>

#include "command.h"
#include "serve.h"
#include "text_options.h"

namespace loadline::tools {
namespace {

int serve(const ServiceOptions& options) {
  boost::asio::io_context context;
  boost::asio::signal_set signals{context, SIGINT, SIGTERM};
  signals.async_wait([](const boost::system::error_code&, int) {});
  const DemoService service{options};
  auto url = service.url().text();
  url.pop_back();  // the address, without the path
  fmt::print("listening: {}\n", url);
  // Whoever is to use it waits for this line.
  if (std::fflush(stdout) != 0) {
    return kFailed;
  }
  context.run();
  return kOk;
}

}  // namespace

void add_serve(CLI::App& app, Action& chosen) {
  auto* command = app.add_subcommand(
      "serve",
      "Run a demo service that collapses under overload, as unprotected services do.\n"
      "It accepts without bound, queues in order of arrival, and goes on working for callers who\n"
      "have left. GET /stats says what it did.");
  const auto options = std::make_shared<ServiceOptions>();
  options->listen.port = 9000;
  add_listen(*command, "--listen", options->listen,
             "Where to listen; 127.0.0.1 unless an address is given; port 0: any free one. The "
             "first line printed says where")
      ->default_str("127.0.0.1:9000");
  command->add_option("--workers", options->workers, "How many requests it works on at once")
      ->check(CLI::Range(1u, 100'000u))
      ->capture_default_str();
  add_time(*command, "--service", options->service_time, "Mean time a worker needs for a request",
           ZeroTime::refused);
  add_choice(*command, "--distribution", options->distribution,
             {{"fixed", Distribution::fixed},
              {"exponential", Distribution::exponential},
              {"lognormal", Distribution::lognormal}},
             "How service times are spread");
  auto* cv = add_decimal(*command, "--cv", options->cv, 0.001, 100,
                         "Standard deviation over mean of the service time; lognormal only");
  command->add_option("--seed", options->seed, "Of the service times")->capture_default_str();
  command->add_flag("--cpu", options->cpu,
                    "Burn CPU in real threads; otherwise workers sleep, which is precise");
  command->callback([options, cv, &chosen] {
    if (cv->count() > 0 && options->distribution != Distribution::lognormal) {
      throw CLI::ValidationError("--cv", "only --distribution lognormal takes it");
    }
    if (options->cpu && options->workers > 1024) {
      throw CLI::ValidationError("--workers", "at most 1024 with --cpu, as each is a thread");
    }
    chosen = [options] { return serve(*options); };
  });
}

}  // namespace loadline::tools
