// An easy handle with a place for the answer.
#pragma once

#include <curl/curl.h>

#include <string>

#include "loadline/curl.h"

namespace loadline::curl::test {

class Easy {
 public:
  explicit Easy(const std::string& url) : handle_(curl_easy_init()) {
    curl_easy_setopt(handle_, CURLOPT_URL, url.c_str());
    curl_easy_setopt(handle_, CURLOPT_PROXY, "");
    curl_easy_setopt(handle_, CURLOPT_WRITEDATA, &body_);
    curl_easy_setopt(handle_, CURLOPT_WRITEFUNCTION, &Easy::take);
  }
  ~Easy() { curl_easy_cleanup(handle_); }
  Easy(const Easy&) = delete;
  Easy& operator=(const Easy&) = delete;

  [[nodiscard]] CURL* get() const { return handle_; }
  [[nodiscard]] const std::string& body() const { return body_; }
  void clear() { body_.clear(); }

 private:
  static std::size_t take(const char* data, std::size_t, std::size_t size, void* body) {
    static_cast<std::string*>(body)->append(data, size);
    return size;
  }

  CURL* handle_;
  std::string body_;
};

}  // namespace loadline::curl::test
