#!/usr/bin/env bash
# files.sh: what the packages are made of fits together, and what they put on a machine is sound.
# shellcheck source=tests/packaging/lib.sh
. "$(dirname "$0")/lib.sh"
debian=$packaging/debian
version=$("$LOADLINE_COMMAND" --version)
version=${version#loadline }

echo "- the version is that of the command"
head -n 1 "$debian/changelog" | grep -qF "loadline ($version) " || fail "debian/changelog is not of $version"

echo "- each package has a description and says where it belongs"
for package in loadline libnginx-mod-http-loadline libloadline-c0 libloadline-dev; do
  awk -v RS= -v name="$package" '$0 ~ "^Package: " name "\n"' "$debian/control" >"$work/stanza"
  for field in Architecture Depends Description; do
    grep -q "^$field:" "$work/stanza" || fail "$package has no $field"
  done
  [ -s "$debian/$package.install" ] || fail "$package holds nothing"
done
[ "$(grep -c '^Package:' "$debian/control")" = 4 ] || fail "debian/control has other packages, too"

echo "- libloadline-c0 lists every function of loadline.h, and no other"
grep -oE '^LOADLINE_API .*' "$root/include/loadline/loadline.h" | grep -oE 'loadline_[a-z_]+\(' | tr -d '(' | sort -u >"$work/declared"
sed -nE 's/^ (loadline_[a-z_]+)@.*/\1/p' "$debian/libloadline-c0.symbols" | sort -u >"$work/listed"
[ -s "$work/declared" ] || fail "loadline.h declares nothing"
diff "$work/declared" "$work/listed" || fail "debian/libloadline-c0.symbols is not loadline.h"

echo "- the file of the service is refused until it says what to guard"
status=0
"$LOADLINE_COMMAND" run --config "$packaging/loadline.yaml" --runtime "$work/run" >"$work/said" 2>&1 || status=$?
[ "$status" = 2 ] || fail "exit code $status: $(cat "$work/said")"
grep -q 'a limit is needed' "$work/said" || fail "no word on the limit"
grep -q 'an upstream is needed' "$work/said" || fail "no word on the upstream"

echo "- it holds every key, with the default, and is right when nothing in it is a comment any more"
sed -E 's/^#((  )?[a-z_]+:)/\1/' "$packaging/loadline.yaml" >"$work/full.yaml"
"$LOADLINE_COMMAND" check "$work/full.yaml" >/dev/null || fail "the whole file is not valid"
keys >"$work/keys"
while IFS= read -r key; do
  # Or within a value that may stand there instead.
  grep -qE "^( |  )?${key##*.}:|^# .*[{].*${key##*.}:" "$work/full.yaml" || fail "no key $key"
done <"$work/keys"
"$LOADLINE_COMMAND" run --config "$work/full.yaml" --print-config >"$work/full.conf"
"$LOADLINE_COMMAND" run --upstream http://127.0.0.1:9000 --limit 64 --print-config >"$work/least.conf"
diff "$work/full.conf" "$work/least.conf" || fail "what stands there are not the defaults"

if ! command -v systemd-analyze >/dev/null; then
  echo "- no systemd here: the unit is not looked at"
  exit 0
fi
echo "- systemd has nothing against the unit, and finds it well closed"
mkdir "$work/unit"
sed "s|/usr/bin/loadline|$LOADLINE_COMMAND|" "$debian/loadline.service" >"$work/unit/loadline.service"
systemd-analyze verify --man=no "$work/unit/loadline.service" >"$work/verified" 2>&1 || fail "systemd-analyze: $(cat "$work/verified")"
if grep loadline.service "$work/verified"; then fail "systemd-analyze has something to say"; fi
# In tenths: 0 is closed, 100 is open; nginx.service of Debian has 90 and more.
systemd-analyze security --offline=true --threshold=25 --no-pager "$work/unit/loadline.service" >"$work/security" 2>&1 ||
  fail "systemd-analyze security: $(tail -n 1 "$work/security")"
