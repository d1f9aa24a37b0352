# A page of docs/ as a manual page: headings, paragraphs, lists, tables and blocks of code, which is all
# that they hold. A table becomes a list: its first column is the word, the others say what it means.
#
#   awk -f text.awk -f markdown.awk -v name=loadline-nginx -v section=5 ... docs/nginx.md

# A paragraph or an item is kept in `text` until it ends, since a `span` may go over a line's end.
function flush() {
  if (text != "") {
    print_text(text)
    gap = 1
  }
  text = ""
}

# Between two paragraphs; none after a heading.
function paragraph() {
  if (gap) {
    print ".PP"
  }
  gap = 0
}

function heading(macro, title) {
  flush()
  print macro " " title
  gap = 0
}

function row(line,   count, cells, i) {
  gsub(/^ *\| *| *\| *$/, "", line)
  count = split(line, cells, / *\| */)
  if (!in_table) {
    in_table = 1
    split(line, titles, / *\| */)
    return
  }
  if (cells[1] ~ /^-+$/) {
    return
  }
  print ".TP"
  print_text(cells[1])
  # Two columns need no titles; of more, each says what it is, and a missing value says nothing.
  for (i = 2; i <= count; i++) {
    if (cells[i] != "") {
      print_text((count > 2 && titles[i] != "" ? titles[i] ": " : "") cells[i])
      if (i < count) {
        print ".br"
      }
    }
  }
  gap = 1
}

BEGIN { print_head(name, section, version, date) }

/^```/ {
  flush()
  in_code = !in_code
  if (in_code) {
    paragraph()
  }
  print in_code ? ".RS 4\n.EX" : ".EE\n.RE"
  gap = 1
  next
}
in_code { print_line($0); next }

/^\|/ { flush(); row($0); next }
{ in_table = 0 }

/^# / {
  sub(/^# /, "")
  sub(/^The /, "the ")
  heading(".SH", "NAME")
  print name " \\- " plain($0)
  heading(".SH", "DESCRIPTION")
  next
}
/^## / { heading(".SH", toupper(plain(substr($0, 4)))); next }
/^### / { heading(".SS", plain(substr($0, 5))); next }
/^- / { flush(); print ".IP \\(bu 2"; text = substr($0, 3); next }
/^$/ { flush(); next }

{
  if (text == "") {
    paragraph()
  }
  sub(/^ +/, "")
  text = (text == "" ? "" : text " ") $0
}

END { flush() }
