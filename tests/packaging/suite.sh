#!/usr/bin/env bash
# suite.sh PACKAGES: installs the packages of that folder in a fresh Debian, boots it, uses them, and removes them
# again (inside.sh). Needs root, and some minutes.
#
# All of it happens in namespaces of its own: whatever way this ends, its processes and mounts end with it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

say() { printf '%s\n' "suite: $*" >&2; }

# The Debian that this machine gets its own packages from.
sources() {
  # apt fills these in.
  # shellcheck disable=SC2016
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' | sort -u
}

make_root() {
  local release mirror
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mirror=$(sources | awk -v release="$release" '$3 == release { print $2; exit }')
  [ -n "$mirror" ] || { say "apt knows no mirror of $release: apt-get update?"; exit 1; }
  say "a fresh $release from $mirror"
  debootstrap --variant=minbase --include=ca-certificates "$release" root "$mirror" >debootstrap.log 2>&1 ||
    { tail -n 20 debootstrap.log >&2; exit 1; }
  sources >root/etc/apt/sources.list
  apt-config dump | grep -E '^Acquire::(https?::|Check-)' >root/etc/apt/apt.conf.d/00machine || true
  mkdir -p root/src/packages
  cp "$1"/*.deb root/src/packages
  rm -f root/src/packages/*-dbgsym_*
  cp -r "$here/inside.sh" "$here/../install/project" root/src
}

# What nspawn is told where there is no systemd to register with.
container() {
  local options=(--quiet --directory=root --machine=loadline-suite --console=pipe)
  [ -d /run/systemd/system ] || options+=(--register=no --keep-unit)
  systemd-nspawn "${options[@]}" "$@"
}

# Debian starts a service as it installs it; there is no init yet.
install_packages() {
  printf '#!/bin/sh\nexit 101\n' >root/usr/sbin/policy-rc.d
  chmod 755 root/usr/sbin/policy-rc.d
  container --setenv=DEBIAN_FRONTEND=noninteractive /src/inside.sh install
  rm root/usr/sbin/policy-rc.d
}

# It is booted for the test alone, and ends with it and its exit code.
use_packages() {
  mkdir -p root/etc/systemd/system/multi-user.target.wants
  cat >root/etc/systemd/system/suite.service <<'UNIT'
[Unit]
After=multi-user.target
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=oneshot
ExecStart=/src/inside.sh use
StandardOutput=append:/src/said
StandardError=append:/src/said
UNIT
  ln -s ../suite.service root/etc/systemd/system/multi-user.target.wants/
  local status=0
  container --boot --private-network >boot.log 2>&1 || status=$?
  cat root/src/said || tail -n 20 boot.log >&2
  return "$status"
}

if [ "${1:-}" = --in-namespaces ]; then
  cd "$2"
  # What nspawn notes down is its own as well.
  mkdir -p /run/systemd/nspawn
  mount -t tmpfs tmpfs /run/systemd/nspawn
  make_root "$3"
  install_packages
  use_packages
  exit
fi

packages=$(realpath "$1")
[ "$(id -u)" = 0 ] || { say "needs root"; exit 1; }
work=$(mktemp -d /var/tmp/loadline-suite.XXXXXX)
running=
clean_up() {
  if [ -n "$running" ]; then
    kill -TERM "$running" 2>/dev/null || true
    wait "$running" 2>/dev/null || true
  fi
  rm -rf --one-file-system "$work"
  # Without systemd nobody else removes the groups that nspawn has made; what is in use stays.
  [ -d /run/systemd/system ] ||
    find /sys/fs/cgroup/{,*/}{payload,supervisor} -depth -type d -exec rmdir {} + 2>/dev/null || true
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

say "lintian"
lintian --allow-root --info --display-info --fail-on error,warning "$packages"/*.changes

setpriv --pdeathsig TERM timeout --kill-after=10 1200 \
  unshare --mount --pid --mount-proc --fork --kill-child "$0" --in-namespaces "$work" "$packages" &
running=$!
status=0
wait "$running" || status=$?
running=
[ "$status" = 0 ] || { say "failed (exit code $status; 124: not done within 20 minutes)"; exit 1; }
say "the packages install, work and leave nothing behind"
