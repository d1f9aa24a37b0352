// Texts of others (names, file names, descriptions) as tables, JSON and pages may show them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace loadline::tools {

// One line of UTF-8: what is none, and control characters, become U+FFFD; line ends a blank.
std::string one_line(std::string_view text);

// Characters, as a terminal that knows neither wide nor combining ones counts columns.
std::size_t columns_of(std::string_view utf8);

// Its first characters with an ellipsis, if it has more than `columns`.
std::string cut_to(std::string_view utf8, std::size_t columns);

// Lines of at most `columns`, broken at blanks where there are any.
std::vector<std::string> wrap(std::string_view utf8, std::size_t columns);

// As text or an attribute of XML and HTML: one_line with < > & " ' escaped.
std::string escape_markup(std::string_view text);

}  // namespace loadline::tools
