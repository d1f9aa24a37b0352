#!/usr/bin/env bash
# install.sh BUILD PROJECT: installs, moves what was installed, and builds the project with it, once with
# CMake and once with pkg-config.
set -euo pipefail
build=$1 project=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first" --component library >/dev/null
mv "$work/first" "$work/prefix"
cp -r "$project" "$work/project"
! grep -rIl -e "$work/first" -e "$build" "$work/prefix" || { echo "FAILED: it knows where it was"; exit 1; }

echo "- with CMake"
cmake -S "$work/project" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
cmake --build "$work/cmake" >/dev/null
for program in gate threads client c; do
  "$work/cmake/$program"
done
for adapter in curl grpc; do
  [ ! -e "$work/prefix/include/loadline/$adapter.h" ] || "$work/cmake/$adapter"
done

echo "- with pkg-config"
library=$(dirname "$(find "$work/prefix" -name libloadline_c.so)")
export PKG_CONFIG_PATH=$library/pkgconfig
# shellcheck disable=SC2046 # flags are words, to be split
adapter() { # NAME: where it was built
  [ ! -e "$work/prefix/include/loadline/$1.h" ] ||
    "$CXX" -std=c++20 "$work/project/$1.cpp" $(pkg "loadline-$1") -o "$work/$1"
}
pkg() { pkg-config --cflags --libs "$1"; }
# Flags are words, to be split.
# shellcheck disable=SC2046
{
  "$CXX" -std=c++20 "$work/project/gate.cpp" $(pkg loadline) -o "$work/gate"
  "$CXX" -std=c++20 "$work/project/threads.cpp" $(pkg loadline-threads) -o "$work/threads"
  "$CXX" -std=c++20 "$work/project/client.cpp" $(pkg loadline-client) -o "$work/client"
  adapter curl
  adapter grpc
  "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$work/project/c.c" $(pkg loadline-c) -o "$work/c"
}
for program in gate threads client c; do
  LD_LIBRARY_PATH=$library "$work/$program"
done
