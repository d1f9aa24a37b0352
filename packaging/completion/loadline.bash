# shellcheck shell=bash
# Completion of `loadline` for bash. It asks the command itself what there is, so that it knows no less
# and no more than the one that is installed.

_loadline_words() { # SUBCOMMAND, or nothing for the subcommands themselves
  "${COMP_WORDS[0]}" "$@" --help 2>/dev/null | sed -nE '
    /^Subcommands:/,$ { s/^  ([a-z]+) .*/\1/p }
    s/^  (-[a-zA-Z],)?(--[a-z-]+).*/\2/p'
}

_loadline() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    words=$(_loadline_words)
  elif [[ $current == -* ]]; then
    words=$(_loadline_words "${COMP_WORDS[1]}")
  else
    case ${COMP_WORDS[1]}:$previous in
      *:--name) return ;;
      run:--limit) words="auto" ;;
      *:--queue) words="auto off" ;;
      serve:--distribution) words="fixed exponential lognormal" ;;
      sim:--format) words="auto nginx apache apache-us apache-ms apache-s csv azure-llm" ;;
      load:--arrivals) words="poisson fixed" ;;
      load:--retries) words="off now backoff loadline" ;;
      *:--config | *:--nginx | *:--module | *:--upstream-ca | *:--access-log | *:--json-file | demo:--json | \
        *:--runtime | check:* | sim:--replay | sim:--plot | sim:--json | sim:--no-oracle | sim:[!-]*) ;;
      set:*) words="limit= limit=auto on observe off draining=on draining=off" ;;
      *) return ;;
    esac
  fi
  if [ -n "$words" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
  fi
  # What is to be followed by a value is not finished.
  [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace 2>/dev/null
}

complete -F _loadline loadline
