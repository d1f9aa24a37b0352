#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "sim_trace.h"
#include "sim_trace_reader.h"

namespace loadline::tools {
namespace {

constexpr unsigned kPiece = 256 * 1024;  // bytes

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
  throw std::runtime_error(fmt::format("{}: {}", path, why));
}

// What is compressed in another way would be read as lines of nonsense.
void require_known_compression(const std::string& path, std::string_view begin) {
  using std::literals::operator""sv;
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOthers{
      {{"\x28\xb5\x2f\xfd"sv, "zstd"}, {"\xfd\x37zXZ\0"sv, "xz"}, {"BZh"sv, "bzip2"}}};
  for (const auto& [magic, name] : kOthers) {
    if (begin.starts_with(magic)) {
      refuse(path,
             fmt::format("is compressed with {0}: allowed are plain text and gzip, so hand it "
                         "over through a pipe, as in <({0} -dc FILE)",
                         name));
    }
  }
}

// A device may have no end. A pipe may be all that somebody has: <(zstd -dc FILE).
int open_trace(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    refuse(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  struct stat status {};
  const bool known = fstat(fd, &status) == 0;
  if (known && (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode))) {
    return fd;
  }
  close(fd);
  refuse(path, known && S_ISDIR(status.st_mode)
                   ? "is a folder, not a file"
                   : "is a device or a socket: allowed is a file or a pipe");
}

// Of a file, how large it is; a pipe has no size.
std::optional<double> size_of(int fd) {
  struct stat status {};
  const bool known = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
  return known ? std::optional(static_cast<double>(status.st_size)) : std::nullopt;
}

}  // namespace

// zlib hands on as it is what is not gzipped, and reads one gzip file behind another.
Trace read_trace(const std::string& path, const TraceOptions& options) {
  const int fd = open_trace(path);
  const std::unique_ptr<gzFile_s, decltype(&gzclose_r)> file(gzdopen(fd, "rb"), &gzclose_r);
  if (!file) {
    close(fd);
    refuse(path, "cannot be read: no memory");
  }
  gzbuffer(file.get(), kPiece);
  const std::optional<double> size = size_of(fd);
  TraceReader reader(options);
  std::vector<char> piece(kPiece);
  int got = 0;
  bool begun = false;
  bool wanted = true;
  while (wanted && (got = gzread(file.get(), piece.data(), kPiece)) > 0) {
    const std::string_view bytes(piece.data(), static_cast<std::size_t>(got));
    if (!begun) {
      require_known_compression(path, bytes);
      begun = true;
    }
    wanted = reader.feed(bytes);
    if (options.progress) {
      const auto here = static_cast<double>(gzoffset(file.get()));
      options.progress(
          {size ? std::optional(std::min(here / *size, 1.0)) : std::nullopt, reader.lines()});
    }
  }
  int error = Z_OK;
  const char* text = gzerror(file.get(), &error);
  if (got < 0 || error == Z_BUF_ERROR) {
    refuse(path, error == Z_BUF_ERROR ? "its compressed data is cut off"
                 : error == Z_ERRNO   ? fmt::format("cannot be read: {}", std::strerror(errno))
                                      : fmt::format("its compressed data is broken: {}", text));
  }
  return reader.finish();
}

}  // namespace loadline::tools
