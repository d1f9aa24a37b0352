// What the fuzz targets share. Each is a program that is handed any bytes at all; what must hold
// for all of them stands in it as FUZZ_EXPECT, beside what the sanitizers watch for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

// Not assert(): these hold in every build.
#define FUZZ_EXPECT(condition)                                                            \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)

namespace loadline::fuzz {

// Takes an input apart, from the front; zeros when there is no more.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  [[nodiscard]] bool empty() const { return size_ == 0; }

  template <class Number>
  Number take() {
    Number number{};
    const std::size_t n = size_ < sizeof number ? size_ : sizeof number;
    std::memcpy(&number, data_, n);
    data_ += n;
    size_ -= n;
    return number;
  }

  // From 0 to `end` - 1.
  std::uint32_t below(std::uint32_t end) {
    return end <= 256 ? take<std::uint8_t>() % end : take<std::uint32_t>() % end;
  }
  bool flag() { return (take<std::uint8_t>() & 1) != 0; }

  [[nodiscard]] std::string_view rest() const {
    return {reinterpret_cast<const char*>(data_), size_};
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

}  // namespace loadline::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
