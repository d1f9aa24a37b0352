// Just enough HTTP/1.1 for the examples: one request a connection, no body.
#pragma once

#include <cstdlib>
#include <istream>
#include <ostream>
#include <string>

#include "loadline/threads.h"

namespace example {

struct HttpRequest {
  std::string path;
  long deadline_ms = -1;  // of the header X-Deadline-Ms; -1: it did not say
};

inline HttpRequest read_request(std::istream& in) {
  HttpRequest request;
  std::string line;
  in >> line >> request.path;
  std::getline(in, line);
  while (std::getline(in, line) && line != "\r" && !line.empty()) {
    if (line.starts_with("X-Deadline-Ms: ")) {
      request.deadline_ms = std::strtol(line.c_str() + 15, nullptr, 10);
    }
  }
  return request;
}

inline std::string answer(int status, const std::string& headers, std::string_view body) {
  return "HTTP/1.1 " + std::to_string(status) + " \r\n" + headers +
         "Connection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

// 503 or 504, with Retry-After where coming back helps.
inline std::string answer(const loadline::threads::Rejection& rejection) {
  const std::string retry_after =
      rejection.retry_after == 0 ? std::string()
                                 : "Retry-After: " + std::to_string(rejection.retry_after) + "\r\n";
  return answer(rejection.http_status(), retry_after, rejection.words());
}

}  // namespace example
