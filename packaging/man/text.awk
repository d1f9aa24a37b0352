# What every manual page needs: a head, and text in which nothing is taken for a command of troff's.

function print_head(name, section, version, date) {
  printf ".TH %s %s %s \"loadline %s\" Loadline\n", toupper(name), section, date, version
}

function plain(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  gsub(/'/, "\\(aq", text)
  gsub(/`/, "", text)
  return text
}

# A line that begins with a dot would be a command.
function print_line(text) {
  text = plain(text)
  print (text ~ /^[.]/ ? "\\&" : "") text
}

# Text with `code`, **strong words** and [links](of other pages).
function print_text(text,   parts, count, i, out) {
  while (match(text, /\[[^]]*\]\([^)]*\)/)) {
    text = substr(text, 1, RSTART - 1) link(substr(text, RSTART, RLENGTH)) substr(text, RSTART + RLENGTH)
  }
  gsub(/\*\*/, "`", text)
  count = split(text, parts, /`/)
  for (i = 1; i <= count; i++) {
    out = out (i % 2 == 0 ? "\\fB" plain(parts[i]) "\\fR" : plain(parts[i]))
  }
  print (out ~ /^[.]/ ? "\\&" : "") out
}

# A word that leads to a page names the page, too; one that is the name of a file is enough.
function link(text,   word, target) {
  word = target = text
  sub(/^\[/, "", word)
  sub(/\]\(.*$/, "", word)
  sub(/^.*\(/, "", target)
  sub(/\)$/, "", target)
  return word ~ /[.\/]/ ? word : word ": " target
}
