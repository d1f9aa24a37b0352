#include "sim_replay_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "config_values.h"
#include "progress_line.h"
#include "sim/seconds.h"
#include "sim_file_values.h"
#include "text_options.h"

namespace loadline::tools {
namespace {

constexpr const char* kGroup = "Replay of a trace, with --replay";
constexpr std::uint32_t kMostPlaces = 60'000;

using Nanoseconds = std::chrono::nanoseconds;

// An option of a word that `read` takes or refuses.
CLI::Option* add_word(CLI::App& app, const std::string& name, const std::string& type,
                      const std::string& help,
                      const std::function<void(const std::string&)>& read) {
  return app.add_option_function<std::string>(name, read, help)->type_name(type);
}

CLI::Option* add_span(CLI::App& app, const std::string& name, const std::string& help,
                      Duration least, const std::function<void(Duration)>& take,
                      Duration most = kLongestSimTime) {
  return add_word(app, name, "TIME", help, [name, least, most, take](const std::string& text) {
    const auto time = parse_time(text);
    if (!time || time->count() < least.ns || time->count() > most.ns) {
      refuse_value(
          name, text,
          fmt::format("a time from {} to {} with a unit, as in 100ms",
                      format_time(Nanoseconds(least.ns)), format_time(Nanoseconds(most.ns))));
    }
    take(Duration{time->count()});
  });
}

void read_queue(const std::string& text, QueueSize& queue) {
  if (text == "auto") {
    queue = QueueSize::sized_by_budget();
  } else if (text == "off") {
    queue = QueueSize::none();
  } else if (const auto places = parse_count(text, 1, kMostPlaces)) {
    queue = QueueSize::at_most(*places);
  } else {
    refuse_value("--queue", text,
                 fmt::format("auto, off or a whole number from 1 to {}", kMostPlaces));
  }
}

void read_format(const std::string& text, TraceFormat& format) {
  const auto read = parse_trace_format(text);
  if (!read) {
    refuse_value("--format", text, std::string("one of ") + kTraceFormatForm);
  }
  format = *read;
}

void read_unknown_work(const std::string& text, std::optional<sim::Distribution>& work) {
  std::string fault;
  work = parse_distribution(text, fault);
  if (!work) {
    throw CLI::ValidationError("--work", fault);
  }
}

// How far the reading is; of a pipe nobody knows how much there is.
void show_progress(ProgressLine& line, const TraceProgress& progress) {
  const std::string lines = fmt::format("{} lines read", progress.lines);
  if (progress.done) {
    line.show(*progress.done, lines);
  } else {
    line.show(lines);
  }
}

Trace read(const ReplayCommand& replay) {
  ProgressLine line(replay.trace);
  TraceOptions options = replay.reading;
  options.progress = [&line](const TraceProgress& progress) { show_progress(line, progress); };
  return read_trace(replay.trace, options);
}

// What is wrong with single lines, which are left out; the rest may well be of use. Where it is
// not, a few lines show what was not understood.
void say_faults(const std::string& path, const Trace& trace) {
  constexpr std::size_t kFew = 3;
  std::vector<FileFault> shown = trace.faults;
  shown.resize(trace.refusal.empty() ? shown.size() : std::min(kFew, shown.size()));
  fmt::print(stderr, "{}", describe_faults(path, shown));
  if (const std::uint64_t more = trace.unreadable() - shown.size(); more > 0) {
    fmt::print(stderr, "{}: and {} more lines like these\n", path, more);
  }
}

// A picture's heading has no lines.
std::string lines_in_a_row(std::string lines) {
  while (lines.ends_with('\n')) {
    lines.pop_back();
  }
  std::string text;
  for (const char c : lines) {
    text += c == '\n' ? std::string("; ") : std::string(1, c);
  }
  return text;
}

std::string title_of(const ReplayCommand& replay) {
  const double faster = replay.playing.faster;
  return faster == 1 ? replay.trace : fmt::format("{}, {:g} times as fast", replay.trace, faster);
}

// "TIME=100ms": what it takes, and what holds without it.
std::string text_of(const CLI::Option& option) {
  const std::string type =
      option.get_type_name().substr(0, option.get_type_name().find_first_of(": "));
  const std::string usual = option.get_default_str();
  return usual.empty() ? type : type + "=" + usual;
}

}  // namespace

CLI::Option* add_replay(CLI::App& command, ReplayCommand& replay) {
  TraceOptions& reading = replay.reading;
  ReplayOptions& playing = replay.playing;
  CLI::Option* const trace =
      command
          .add_option("--replay", replay.trace,
                      "Play the requests of this access log or table, gzipped or not, against "
                      "gates of several limits")
          ->type_name("FILE");
  const std::vector<CLI::Option*> others{
      add_word(command, "--format", "FORMAT",
               std::string("What it is, if its first lines do not tell: ") + kTraceFormatForm,
               [&reading](const std::string& text) { read_format(text, reading.format); }),
      command
          .add_option("--workers", playing.workers,
                      "The service can work on so many at once; without, on all, as if each took "
                      "as long as it did")
          ->check(CLI::Range(1U, kMaxLimit))
          ->type_name("N"),
      command
          .add_option("--limit", playing.limits,
                      "A gate of this limit; repeatable. Without, N and 2 N of --workers, or what "
                      "the trace had in flight at p50, p90, p99 and at most")
          ->check(CLI::Range(1U, kMaxLimit))
          ->allow_extra_args(false)
          ->delimiter(',')
          ->type_name("N"),
      add_word(command, "--queue", "N|auto|off",
               "How many may wait at each gate; auto: sized by --wait",
               [&playing](const std::string& text) { read_queue(text, playing.queue); })
          ->default_str("auto"),
      add_span(
          command, "--wait", "The longest that a request may wait there", Duration::millis(1),
          [&playing](Duration wait) { playing.wait = wait; }, Duration::seconds(3600))
          ->default_str("100ms"),
      add_span(command, "--patience",
               "Callers give up after this time, and an answer that comes later is worthless; "
               "without, they wait for ever",
               Duration{1000}, [&playing](Duration patience) { playing.patience = patience; }),
      add_word(
          command, "--work", "TIME|DISTRIBUTION",
          "How long a request takes of which the trace does not say it, as in 20ms or "
          "'{exponential: 20ms}'; without, the median of the others",
          [&playing](const std::string& text) { read_unknown_work(text, playing.unknown_work); }),
      add_decimal(command, "--faster", playing.faster, 0.001, 1000,
                  "All come so many times as fast: 2 is twice the traffic in half the time"),
      add_span(command, "--context-token", "Of azure-llm: how long each token of a prompt takes",
               Duration{},
               [&reading](Duration time) { reading.context_token_seconds = sim::seconds(time); }),
      add_span(command, "--generated-token", "And each token of an answer", Duration{},
               [&reading](Duration time) { reading.generated_token_seconds = sim::seconds(time); }),
  };
  trace->group(kGroup);
  for (CLI::Option* const option : others) {
    // The heading says what they need.
    option->needs(trace)->group(kGroup)->option_text(text_of(*option));
  }
  return trace;
}

std::vector<SimStudy> read_replay(const ReplayCommand& replay) {
  std::vector<SimStudy> studies;
  SimStudy study{.title = title_of(replay), .head = {}, .file = {}};
  const Trace trace = read(replay);
  say_faults(replay.trace, trace);
  study.file = replay_of(trace, replay.playing);
  study.head = study.file.about;
  study.file.about = lines_in_a_row(study.head);
  for (const FileFault& fault : study.file.faults) {
    fmt::print(stderr, "{}: {}\n", replay.trace, fault.text);
  }
  if (study.file.faults.empty()) {
    studies.push_back(std::move(study));
  }
  return studies;
}

}  // namespace loadline::tools
