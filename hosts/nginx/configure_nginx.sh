#!/bin/bash
# Makes the headers that nginx-dev leaves out: ngx_auto_config.h and ngx_auto_headers.h describe how the
# installed nginx was built, and only its own `configure` writes them. Run once per build directory.
#
#   configure_nginx.sh NGINX_SOURCE BUILD_DIRECTORY
#
# NGINX_SOURCE is where nginx-dev lies (/usr/share/nginx/src); nothing is written there.
set -eu

source_directory=$1
build_directory=$2

mkdir -p "$build_directory"
cd "$source_directory"
# shellcheck source=/dev/null
. ./conf_flags
./configure --with-cc-opt=-fPIC "${NGX_CONF_FLAGS[@]}" --builddir="$build_directory" \
  >"$build_directory/configure.log" 2>&1 || {
  tail -n 20 "$build_directory/configure.log" >&2
  exit 1
}
