// The stage of the demo: a service that can be overloaded, and a sidecar in front of it whose gate
// can be switched off, so that both runs go through the very same nginx.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "load.h"
#include "process.h"
#include "serve.h"

namespace loadline::tools {

class DemoStage {
 public:
  struct Options {
    ServiceOptions service = {};  // but for where it listens
    std::string limit = "5";
  };

  // Starts the service and the sidecar and waits until both answer. Throws std::runtime_error, with
  // what the sidecar said, when it does not come up.
  explicit DemoStage(Options options);
  // Ends both and removes their files.
  ~DemoStage();
  DemoStage(const DemoStage&) = delete;
  DemoStage& operator=(const DemoStage&) = delete;

  // A fresh service at the same address: what an overload has left in the old one's queue goes with
  // it. Then waits until nothing is in flight at the gate, and switches it.
  void prepare(bool gate_on);

  Url url() const;  // of the sidecar
  ServiceStats service_stats() const { return service_->stats(); }
  void halve_service() { service_->halve(); }
  // The gate as its status page shows it.
  nlohmann::json gate() const;

 private:
  void start_sidecar();
  void await_sidecar();
  std::string ask(const std::string& method, const std::string& target) const;
  [[noreturn]] void fail(const std::string& what) const;

  Options options_;
  std::string folder_;
  std::uint16_t service_port_ = 0;
  std::uint16_t sidecar_port_ = 0;
  std::unique_ptr<DemoService> service_;
  std::unique_ptr<Child> sidecar_;
};

}  // namespace loadline::tools
