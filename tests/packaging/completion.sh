#!/usr/bin/env bash
# completion.sh: bash and zsh offer every subcommand and option that --help names.
# shellcheck source=tests/packaging/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=packaging/completion/loadline.bash
. "$packaging/completion/loadline.bash"

in_bash() { # WORD...: what is offered for the last of them
  COMP_WORDS=("$LOADLINE_COMMAND" "$@")
  COMP_CWORD=$#
  COMPREPLY=()
  _loadline
  printf '%s\n' "${COMPREPLY[@]}"
}

# Without a terminal there is no completion in zsh, so what it would be given is taken instead.
cat >"$work/zsh" <<'END'
fpath=($1)
autoload -Uz _loadline
compadd() {
  if [[ $1 == -a ]]; then print -rl -- ${(P)2}; elif [[ $1 == -S ]]; then print -rl -- $@[3,-1]; else print -rl -- $@; fi
}
_files() { print files }
shift
words=($@)
CURRENT=$#
PREFIX=$@[-1]
_loadline
END
in_zsh() { zsh -f "$work/zsh" "$packaging/completion" "$LOADLINE_COMMAND" "$@"; }

offers() { # SHELL EXPECTED WORD...
  local shell=$1 expected=$2
  shift 2
  "in_$shell" "$@" >"$work/offered"
  grep -qxF -- "$expected" "$work/offered" || fail "$shell does not offer '$expected' after: loadline $*"
}

for shell in bash zsh; do
  echo "- $shell"
  for name in $(subcommands); do
    offers "$shell" "$name" ""
    for option in $(options "$name"); do
      offers "$shell" "$option" "$name" --
    done
  done
  offers "$shell" --version ""
  offers "$shell" draining=on set ""
done

echo "- bash offers what begins as what is there"
[ "$(in_bash ru)" = run ] || fail "ru: $(in_bash ru)"
[ "$(in_bash run --li | xargs)" = "--listen --limit --limit-from --limit-at-least --limit-at-most" ] || fail "run --li: $(in_bash run --li)"
[ "$(in_bash run --queue a)" = auto ] || fail "run --queue a: $(in_bash run --queue a)"

echo "- bash offers files where a file is asked for"
touch "$work/some.yaml"
[ "$(in_bash check "$work/so")" = "$work/some.yaml" ] || fail "check: $(in_bash check "$work/so")"
[ "$(in_bash run --config "$work/so")" = "$work/some.yaml" ] || fail "run --config"
[ "$(in_bash sim "$work/so")" = "$work/some.yaml" ] || fail "sim: $(in_bash sim "$work/so")"
[ "$(in_bash sim "$work/some.yaml" "$work/so")" = "$work/some.yaml" ] || fail "sim, a second file"
[ "$(in_bash sim --replay "$work/so")" = "$work/some.yaml" ] || fail "sim --replay"
[ -z "$(in_bash sim --workers "")" ] || fail "sim --workers: $(in_bash sim --workers "")"
[ "$(in_bash sim --format az)" = azure-llm ] || fail "sim --format az: $(in_bash sim --format az)"
[ "$(in_bash run --limit "" | xargs)" = auto ] || fail "run --limit: $(in_bash run --limit "")"
