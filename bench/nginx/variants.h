// What is measured: each variant is a server and the one thing it does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nginx/server.h"

namespace loadline::bench {

// What the variants stand in.
struct Surroundings {
  std::string module;                // path of ngx_http_loadline_module.so
  std::uint16_t upstream_port = 0;   // answers at once
  std::uint16_t blackhole_port = 0;  // never answers
};

// All variants, by the names that figures use.
std::vector<Variant> make_variants(const Surroundings& around);

// The server behind the proxying ones.
Variant upstream_variant();

}  // namespace loadline::bench
