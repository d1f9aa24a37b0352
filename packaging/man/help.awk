# What `loadline COMMAND --help` says, as a part of loadline(1): the words, then each option.
#
#   loadline run --help | awk -f text.awk -f help.awk -v command=run

# One option or positional: its name, which is its first word, its value, and what it does.
function end_item(   word) {
  if (item == "") {
    return
  }
  word = item
  sub(/[ :].*/, "", word)
  print ".TP"
  print "\\fB" plain(word) "\\fR" plain(substr(item, length(word) + 1))
  # It depends on who asks, and who builds the page is not who reads it.
  sub(/Default here: .*/, "Default: /run/loadline for root, else $XDG_RUNTIME_DIR/loadline, else /tmp/loadline-UID.", about)
  print_text(about)
  item = about = ""
  blank = 1
}

BEGIN { print ".SS loadline " command }

/^Usage: / { print ".PP"; print_text("`" substr($0, 8) "`"); next }
/^(Options|Positionals):$/ { next }
/^$/ { end_item(); blank = 1; next }

/^  [^ ]/ {
  end_item()
  item = substr($0, 3)
  if (match(item, /   *[^ ]/)) {
    about = substr(item, RSTART + RLENGTH - 1)
    item = substr(item, 1, RSTART - 1)
  }
  next
}
item != "" { sub(/^ */, ""); about = (about == "" ? "" : about " ") $0; next }

{
  if (blank) {
    print ".PP"
  }
  blank = 0
  print_text($0)
}

END { end_item() }
