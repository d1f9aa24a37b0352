#include "yaml_file.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "config.h"

namespace loadline::tools {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

constexpr const char* kVersionHint = "allowed is 1, the version of this format";

// Notes where documents begin.
class Beginnings : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override { awaited_ = true; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { note(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { note(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    note(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    note(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    note(mark);
  }
  void OnMapEnd() override {}

  const std::vector<FilePlace>& places() const { return places_; }

 private:
  void note(const YAML::Mark& mark) {
    if (std::exchange(awaited_, false)) {
      places_.push_back(place_of(mark));
    }
  }

  bool awaited_ = false;
  std::vector<FilePlace> places_;
};

// Of the first two. YAML::LoadAll reads all, and where nothing can begin, as at a comma, it reads
// an empty document after the other without an end.
std::vector<FilePlace> places_of_documents(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Beginnings beginnings;
  while (beginnings.places().size() < 2 && parser.HandleNextDocument(beginnings)) {
  }
  return beginnings.places();
}

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
  throw std::runtime_error(fmt::format("{}: {}", path, why));
}

}  // namespace

FilePlace place_of(const YAML::Mark& mark) {
  return mark.is_null() ? FilePlace{} : FilePlace{mark.line + 1, mark.column + 1};
}

YAML::Node load_yaml(const std::string& text, std::vector<FileFault>& faults) {
  try {
    const auto places = places_of_documents(text);
    if (places.size() > 1) {
      const bool stuck = places[1] == places[0];
      faults.push_back({places[1], stuck ? "not YAML: nothing can begin here"
                                         : "a second document: allowed is one"});
    }
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    faults.push_back({place_of(error.mark), "not YAML: " + printable(error.msg)});
    return YAML::Node(YAML::NodeType::Undefined);
  }
}

std::string version_fault(const YAML::Node& value) {
  if (!value.IsScalar()) {
    return kVersionHint;
  }
  return value.Scalar() == "1"
             ? ""
             : fmt::format("value '{}': {}", printable(value.Scalar()), kVersionHint);
}

void require_regular_file(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::directory) {
    refuse(path, "is a folder, not a file");
  }
  if (error) {
    refuse(path, "cannot be read: " + error.message());
  }
  if (type != std::filesystem::file_type::regular) {
    refuse(path, "is a pipe, a device or a socket: allowed is a regular file");
  }
}

std::string read_regular_file(const std::string& path) {
  require_regular_file(path);
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    refuse(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  std::string text(kMostBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMostBytes) {
    refuse(path, "is larger than 1 MiB, which no configuration is");
  }
  return text;
}

}  // namespace loadline::tools
