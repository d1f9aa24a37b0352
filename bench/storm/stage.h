// A service that can be made to stand still, behind `loadline run`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "../nginx/process.h"

namespace loadline::bench::storm {

inline constexpr unsigned kWorkers = 4;
inline constexpr unsigned kServiceMs = 10;
inline constexpr unsigned kLimit = 6;

struct StageOptions {
  std::string command;  // the loadline command
  std::string module;   // empty: where the command looks for it
  bool gate = true;     // otherwise it only observes, and refuses nobody
};

struct ServiceCounts {
  std::uint64_t completed = 0;
  std::uint64_t abandoned = 0;  // of these, for a caller who had left
};

// A folder that goes with everything in it.
class Folder {
 public:
  Folder();  // throws std::runtime_error
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class Stage {
 public:
  // Waits until both answer. Throws std::runtime_error with what they said if they do not.
  explicit Stage(const StageOptions& options);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  [[nodiscard]] const std::string& url() const { return url_; }
  void stand_still();
  void go_on();
  ServiceCounts counts();

 private:
  [[noreturn]] void fail(const std::string& what) const;

  Folder folder_;
  std::string url_;
  std::string service_url_;
  pid_t service_pid_ = -1;
  std::unique_ptr<Process> service_;
  std::unique_ptr<Process> sidecar_;
};

}  // namespace loadline::bench::storm
