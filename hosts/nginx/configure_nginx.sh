#!/bin/bash
# Makes the headers that describe how nginx was built, ngx_auto_config.h and ngx_auto_headers.h: only its
# own `configure` writes them. Run once per build directory.
#
#   configure_nginx.sh NGINX_SOURCE BUILD_DIRECTORY
#
# NGINX_SOURCE is where nginx-dev lies (/usr/share/nginx/src), which leaves those two out and says in
# conf_flags how Debian's nginx was configured; or the source of any other nginx, whose flags are then taken
# from NGINX_FLAGS (as `nginx -V` prints them; --with-compat if there are none). Nothing is written there.
set -eu

source_directory=$1
build_directory=$2

mkdir -p "$build_directory"
cd "$source_directory"
if [ -e conf_flags ]; then
  # shellcheck source=/dev/null
  . ./conf_flags
else
  read -ra NGX_CONF_FLAGS <<<"${NGINX_FLAGS:---with-compat}"
fi
configure=./configure
[ -x "$configure" ] || configure=./auto/configure  # in a checkout
"$configure" --with-cc-opt=-fPIC "${NGX_CONF_FLAGS[@]}" --builddir="$build_directory" \
  >"$build_directory/configure.log" 2>&1 || {
  tail -n 20 "$build_directory/configure.log" >&2
  exit 1
}
