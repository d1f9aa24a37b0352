// What stands behind the opaque types of loadline.h, and what its functions share.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stop_token>

#include "loadline/loadline.h"
#include "loadline/threads.h"

struct loadline_policy {
  loadline::Policy policy;
  char default_class[loadline::kMaxClassName + 1] = {};  // looked up when all classes are known
  loadline::Duration lease;
  loadline_expired_callback expired = nullptr;
  void* expired_user = nullptr;
};

struct loadline_gate {
  loadline::threads::Doorkeeper door;
};

struct loadline_caller {
  std::stop_source source;
};

struct loadline_permit {
  loadline::threads::Permit permit;
};

namespace loadline::capi {

inline void say(char* error, std::size_t size, const char* text) noexcept {
  if (error != nullptr && size != 0) {
    std::snprintf(error, size, "%s", text);
  }
}

template <class First, class... Others>
void say(char* error, std::size_t size, const char* format, First first,
         Others... others) noexcept {
  if (error != nullptr && size != 0) {
    std::snprintf(error, size, format, first, others...);
  }
}

// Copies between a struct as the program knows it and as we do: what both know, and no byte more.
template <class Struct>
Struct read_sized(const Struct& theirs, Struct known) noexcept {
  std::memcpy(&known, &theirs, std::min<std::size_t>(theirs.size, sizeof known));
  return known;
}

template <class Struct>
void write_sized(Struct& theirs, Struct known) noexcept {
  known.size = theirs.size;
  std::memcpy(&theirs, &known, std::min<std::size_t>(theirs.size, sizeof known));
}

}  // namespace loadline::capi
