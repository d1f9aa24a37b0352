#include "nginx_conf.h"

#include <fmt/format.h>

#include <algorithm>

#include "config_policy.h"

namespace loadline::tools {
namespace {

using std::chrono::milliseconds;

std::string millis(milliseconds time) {
  return fmt::format("{}ms", time.count());
}

std::string heading(const NginxSetup& setup) {
  return fmt::format(
      R"(# Written by `loadline run` for the run named {name}; the next start or reload overwrites it.
# The loadline_ directives are explained in Loadline's docs/nginx.md.
#
# For an nginx of your own: leave out `daemon`, `pid` and the `..._temp_path` lines, which are for this
# run, and the last server, at control.sock, which is for `loadline set`; or give them paths of yours.
# Name in load_module the module that was built for that nginx, and set `user` as that nginx has it.

load_module {module};

{user}worker_processes {workers};
worker_rlimit_nofile {open_files};
worker_shutdown_timeout 1h;  # for what still runs in the workers of before a reload
daemon off;                  # `loadline run` stays in front and watches
pid {pid};
error_log stderr warn;

events {{
    worker_connections {connections};  # a request takes two: the client's and the service's
}}

)",
      fmt::arg("name", setup.run_name), fmt::arg("module", nginx_quoted(setup.module)),
      fmt::arg("user", setup.user.empty() ? "" : fmt::format("user {};\n", setup.user)),
      fmt::arg("workers", setup.workers), fmt::arg("open_files", setup.open_files),
      fmt::arg("pid", nginx_quoted(setup.pid_file())), fmt::arg("connections", setup.connections));
}

std::string scratch_paths(const NginxSetup& setup) {
  std::string text = "    # Nothing outside of the run's own folders is needed.\n";
  for (const char* kind : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
    text += fmt::format("    {}_temp_path {};\n", kind,
                        nginx_quoted(fmt::format("{}/{}", setup.scratch, kind)));
  }
  return text + "\n";
}

std::string logs(const Config& config) {
  std::string text = "    access_log off;";
  if (!config.access_log.empty()) {
    text += R"(  # except for the service's requests
    log_format loadline '$remote_addr [$time_iso8601] "$request" $status $body_bytes_sent '
                        'time=$request_time upstream=$upstream_response_time '
                        'loadline=$loadline_status reason=$loadline_reason '
                        'wait=$loadline_wait class=$loadline_class';)";
  }
  return text + "\n    server_tokens off;\n\n";
}

std::string service_log(const Config& config) {
  return config.access_log.empty()
             ? ""
             : fmt::format("        access_log {} loadline;\n", nginx_quoted(config.access_log));
}

// " NAME=CLASS:PERCENT%,CLASS"; nothing for no classes.
std::string class_list(std::string_view name, const std::vector<ClassSetting>& settings) {
  std::string list;
  for (const ClassSetting& setting : settings) {
    list += list.empty() ? fmt::format(" {}=", name) : ",";
    list += setting.name;
    if (setting.percent != 0) {
      list += fmt::format(":{}%", setting.percent);
    }
  }
  return list;
}

std::string mode(const Config& config, const NginxSetup& setup) {
  if (setup.off) {
    return " mode=off";
  }
  return config.observe ? " mode=observe" : "";
}

// What differs from the gate's own defaults.
std::string rules(const Config& config) {
  std::string text;
  if (config.order != "adaptive") {
    text += fmt::format(" order={}", config.order);
  }
  text += class_list("classes", config.classes);
  if (!config.default_class.empty()) {
    text += fmt::format(" default={}", config.default_class);
  }
  text += class_list("guarantee", config.guarantees);
  if (!config.weight_header.empty()) {
    text += fmt::format(" heavy={}%", config.heavy);
  }
  if (config.tenants != 0) {
    text += fmt::format(" tenants={}", config.tenants);
  }
  if (config.quota) {
    text += fmt::format(" quota={} quota_burst={} quota_keys={}", config.quota->text(),
                        config.quota_burst, config.quota_keys);
  }
  if (config.retry_after != "1-32") {
    text += fmt::format(" retry_after={}", config.retry_after);
  }
  return text;
}

std::string limit(const Config& config) {
  std::string text = limit_text(config);
  const auto add = [&text](std::string_view name, std::optional<std::uint32_t> number) {
    if (number) {
      text += fmt::format(" {}={}", name, *number);
    }
  };
  add("limit_from", config.limit_from);
  add("limit_least", config.limit_at_least);
  add("limit_most", config.limit_at_most);
  std::string signals;
  for (const SignalSetting& signal : config.signals) {
    signals +=
        fmt::format("{}{}:{}", signals.empty() ? " signals=" : ",", signal.name, signal.at_most);
  }
  return text + signals;
}

std::string gate(const Config& config, const NginxSetup& setup) {
  return fmt::format(
      R"(    # The gate: how many requests the service works on at once, over all workers.
    loadline_gate {}:{}m limit={} queue={} wait={}{}{};
    loadline_log_level warn interval=10s;  # one line when something was rejected

)",
      kGateName, zone_mebibytes(config), limit(config), config.queue, millis(config.wait),
      mode(config, setup), rules(config));
}

std::string upstream(const Config& config, const NginxSetup& setup) {
  const std::string named = config.upstream->endpoint();
  std::string servers;
  for (const std::string& server : setup.servers) {
    servers += fmt::format("        server {};{}\n", server,
                           server == named ? "" : fmt::format("  # {}", named));
  }
  if (servers.empty()) {
    servers = fmt::format("        server {};\n", named);
  }
  // Each worker may come to hold the whole limit.
  const auto idle = std::clamp<std::uint32_t>(most_at_once(config).value_or(kMaxLimit), 32, 4096);
  return fmt::format(R"(    upstream {} {{
{}
        # Kept for less than any service keeps an idle connection, so that none is closed by it just
        # as a request is sent.
        keepalive {};
        keepalive_timeout 1s;
        keepalive_requests 100000;
    }}

)",
                     kGateName, servers, idle);
}

std::string trusted_peers(const Config& config) {
  // Duplicates would make nginx complain.
  std::vector<std::string> networks{"127.0.0.0/8", "::1"};
  for (const std::string& network : config.trusted) {
    if (std::find(networks.begin(), networks.end(), network) == networks.end()) {
      networks.push_back(network);
    }
  }
  std::string text;
  for (const std::string& network : networks) {
    text += fmt::format("        {} 1;\n", network);
  }
  return text;
}

std::string maps(const Config& config) {
  return fmt::format(
      R"(    # WebSockets and other upgrades pass. h2c does not: the requests inside would not be counted.
    map $http_upgrade $passed_upgrade {{
        default $http_upgrade;
        ~*h2c "";
    }}
    map $passed_upgrade $passed_connection {{
        default upgrade;
        "" "";  # keep the connection to the service
    }}

    # HTTP/1.0 clients may name no host; the service speaks HTTP/1.1 and must be told one.
    map $http_host $passed_host {{
        default $http_host;
        "" {authority};
    }}

    # What a front says about the request it passes on is kept if that front is on this machine or
    # trusted; anyone else could be making it up.
    geo $peer_is_trusted {{
        default 0;
{trusted}    }}
    map $http_x_forwarded_proto $front_proto {{
        default $http_x_forwarded_proto;
        "" $scheme;
    }}
    map $http_x_forwarded_host $front_host {{
        default $http_x_forwarded_host;
        "" $http_host;
    }}
    map $peer_is_trusted $passed_proto {{
        default $scheme;
        1 $front_proto;
    }}
    map $peer_is_trusted $passed_forwarded_host {{
        default $http_host;
        1 $front_host;
    }}
    map $peer_is_trusted $passed_forwarded {{
        default "";
        1 $http_forwarded;
    }}

)",
      fmt::arg("authority", nginx_quoted(config.upstream->authority())),
      fmt::arg("trusted", trusted_peers(config)));
}

// Outside the gate, or with a header that could not be read, nothing is known of a deadline.
std::string deadline_map(const Config& config) {
  if (config.deadline_header.empty()) {
    return "";
  }
  return fmt::format(
      R"(    # The service is told what is left; where that is not known, what the client said.
    map $loadline_deadline_left $passed_deadline {{
        default $loadline_deadline_left;
        "" $http_{};
    }}

)",
      header_variable(config.deadline_header));
}

std::string key_map(std::string_view variable, const RequestKey& key) {
  return key.header.empty() ? ""
                            : fmt::format(R"(    map $http_{header} ${variable} {{
        default "header $http_{header}";  # so that no header passes for an address
        "" $remote_addr;
    }}

)",
                                          fmt::arg("header", header_variable(key.header)),
                                          fmt::arg("variable", variable));
}

// Whose a request is.
std::string key_maps(const Config& config) {
  return (config.tenants != 0 ? key_map("tenant", config.tenant_key) : "") +
         (config.quota ? key_map("quota_key", config.quota_key) : "");
}

// What the gate is told of each request.
std::string claims(const Config& config) {
  const auto key = [](std::string_view variable, const RequestKey& given) {
    return given.header.empty() ? "remote_addr" : variable;
  };
  std::string text;
  if (config.deadline != milliseconds(0)) {
    text += fmt::format(" deadline={}", millis(config.deadline));
  }
  if (!config.weight_header.empty()) {
    text += fmt::format(" weight=$http_{}", header_variable(config.weight_header));
  }
  if (config.tenants != 0) {
    text += fmt::format(" tenant=${}", key("tenant", config.tenant_key));
  }
  if (config.quota) {
    text += fmt::format(" quota=${}", key("quota_key", config.quota_key));
  }
  return text;
}

std::string listen_line(const ListenAddress& address, std::string_view more) {
  // "[::]" means every address to most programs; nginx alone would leave out IPv4.
  const bool both_families = address.address == "::";
  return fmt::format("        listen {}{}{};\n", listen_text(address), more,
                     both_families ? " ipv6only=off" : "");
}

std::string gate_settings(const Config& config) {
  std::string text = fmt::format("        loadline_class_header {};\n",
                                 config.class_header.empty() ? "off" : config.class_header);
  if (!config.deadline_header.empty()) {
    text += fmt::format("        loadline_deadline_header {};\n", config.deadline_header);
  }
  if (!config.trusted.empty()) {
    text += fmt::format("        loadline_trusted {};\n", fmt::join(config.trusted, " "));
  }
  text += fmt::format("        loadline_reject_status {};\n", config.reject_status);
  text += fmt::format("        loadline_body {} {};\n", nginx_quoted(config.reject_body),
                      nginx_quoted(config.reject_type));
  return text + "\n";
}

std::string tls(const Config& config) {
  if (config.upstream->kind != Upstream::Kind::https) {
    return "";
  }
  const std::string name =
      config.upstream_name.empty() ? config.upstream->host : config.upstream_name;
  std::string text = fmt::format(R"(
        # nginx would ask for the upstream's name in this file, which is no host's.
        proxy_ssl_server_name on;
        proxy_ssl_name {};
)",
                                 nginx_quoted(name));
  if (config.upstream_ca == "off") {
    return text + "        proxy_ssl_verify off;\n";
  }
  const std::string_view authorities = config.upstream_ca == "system"
                                           ? "/etc/ssl/certs/ca-certificates.crt"
                                           : std::string_view(config.upstream_ca);
  return text + fmt::format(R"(        proxy_ssl_verify on;
        proxy_ssl_verify_depth 4;
        proxy_ssl_trusted_certificate {};
)",
                            nginx_quoted(authorities));
}

std::string proxying(const Config& config) {
  const std::string deadline =
      config.deadline_header.empty()
          ? ""
          : fmt::format("        proxy_set_header {} $passed_deadline;\n", config.deadline_header);
  return fmt::format(
      R"(        # The request passes as it came: any size, streamed, its path untouched, odd header names too.
        client_max_body_size 0;
        client_header_buffer_size 4k;
        large_client_header_buffers 8 64k;
        underscores_in_headers on;
        ignore_invalid_headers off;
        merge_slashes off;
        keepalive_timeout 620s;  # longer than the load balancers in front, which reuse connections
        keepalive_requests 100000;
        proxy_http_version 1.1;
        # A short body is here before it takes a place at the service; a longer one is streamed.
        loadline_read_body 1m;
        client_body_buffer_size 64k;
        proxy_request_buffering off;
        proxy_headers_hash_bucket_size 128;
        proxy_set_header Host $passed_host;
        proxy_set_header Upgrade $passed_upgrade;
        proxy_set_header Connection $passed_connection;
        proxy_set_header HTTP2-Settings "";
        proxy_set_header Proxy "";  # a CGI program would take it for its proxy's address
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Proto $passed_proto;
        proxy_set_header X-Forwarded-Host $passed_forwarded_host;
        proxy_set_header Forwarded $passed_forwarded;
{deadline}
        # So does the response.
        proxy_buffering off;
        proxy_buffer_size 32k;  # holds the response's headers
        proxy_buffers 4 32k;    # unused, but checked against the line above
        proxy_redirect off;
        proxy_pass_header Server;
        proxy_pass_header Date;
        proxy_pass_header X-Pad;
        proxy_pass_header X-Accel-Expires;
        proxy_pass_header X-Accel-Redirect;
        proxy_pass_header X-Accel-Limit-Rate;
        proxy_pass_header X-Accel-Buffering;
        proxy_pass_header X-Accel-Charset;
        proxy_ignore_headers X-Accel-Expires X-Accel-Redirect X-Accel-Limit-Rate X-Accel-Buffering
                             X-Accel-Charset;

        # Streams may be silent for long; a service that takes no connection is found out soon. A
        # failed request is the client's to repeat.
        proxy_connect_timeout 5s;
        proxy_read_timeout 1h;
        proxy_send_timeout 1h;
        proxy_socket_keepalive on;
        proxy_next_upstream off;
{tls}
)",
      fmt::arg("deadline", deadline), fmt::arg("tls", tls(config)));
}

std::string locations(const Config& config) {
  const std::string scheme = config.upstream->kind == Upstream::Kind::https ? "https" : "http";
  std::string text = fmt::format(R"(        location / {{
            loadline {gate}{claims};
            proxy_pass {scheme}://{gate};
        }}
)",
                                 fmt::arg("gate", kGateName), fmt::arg("claims", claims(config)),
                                 fmt::arg("scheme", scheme));
  if (config.exempt.empty()) {
    return text;
  }
  text += R"(
        # Outside the gate. The path is written out: passed on as it came, /costly/..%2fhealthz would
        # be exempt here and costly there.
)";
  std::vector<std::string> paths = config.exempt;
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  for (const std::string& path : paths) {
    text += fmt::format(R"(        location = {path} {{
            loadline off;
            proxy_pass {scheme}://{gate}{path};
        }}
)",
                        fmt::arg("path", path), fmt::arg("scheme", scheme),
                        fmt::arg("gate", kGateName));
  }
  return text;
}

std::string service_server(const Config& config) {
  return "    # The service.\n    server {\n" +
         listen_line(*config.listen, " backlog=4096 so_keepalive=on") + service_log(config) + "\n" +
         gate_settings(config) + proxying(config) + locations(config) + "    }\n";
}

std::string admin_server(const Config& config) {
  if (!config.admin) {
    return "";
  }
  return "\n    # What the gate is doing, for people and for Prometheus; read-only.\n    server "
         "{\n" +
         listen_line(*config.admin, "") + R"(        default_type text/plain;

        location = /status  { loadline_stub_status; }
        location = /metrics { loadline_metrics; }
        location = /healthz { return 200 "ok\n"; }
        location / { return 404 "Here are /status, /metrics and /healthz.\n"; }
    }
)";
}

std::string metrics_server(const Config& config) {
  if (!config.metrics) {
    return "";
  }
  return "\n    # For Prometheus alone.\n    server {\n" + listen_line(*config.metrics, "") +
         R"(        default_type text/plain;

        location = /metrics { loadline_metrics; }
        location / { return 404 "Here is /metrics.\n"; }
    }
)";
}

std::string control_server(const NginxSetup& setup) {
  return fmt::format(R"(
    # For `loadline set`, and to see that a reload has happened. Only who may enter the folder gets
    # here.
    server {{
        listen {};
        default_type text/plain;

        location = /set        {{ loadline_control; }}
        location = /status     {{ loadline_stub_status; }}
        location = /generation {{ return 200 "{}"; }}
    }}
)",
                     nginx_quoted("unix:" + setup.control_socket()), setup.generation);
}

}  // namespace

std::string nginx_conf(const Config& config, const NginxSetup& setup) {
  return heading(setup) + "http {\n" + scratch_paths(setup) + logs(config) + gate(config, setup) +
         upstream(config, setup) + maps(config) + deadline_map(config) + key_maps(config) +
         service_server(config) + admin_server(config) + metrics_server(config) +
         control_server(setup) + "}\n";
}

std::string nginx_quoted(std::string_view text) {
  const bool bare = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_./:@%+,=-[]").find(c) != std::string_view::npos;
  });
  if (bare) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
    }
    if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string listen_text(const ListenAddress& address) {
  return address.address.find(':') == std::string::npos
             ? fmt::format("{}:{}", address.address, address.port)
             : fmt::format("[{}]:{}", address.address, address.port);
}

}  // namespace loadline::tools
