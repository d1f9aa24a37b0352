// The folder of a running `loadline run`: its lock, its files, and what a dead one left behind.
#pragma once

#include <string>
#include <string_view>

namespace loadline::tools {

// Where the folders of all runs are: /run/loadline for root, else $XDG_RUNTIME_DIR/loadline, else
// /tmp/loadline-UID.
std::string default_runtime_base();

// BASE/NAME, absolute: what `loadline set` has to look in.
std::string run_folder_path(std::string_view base, std::string_view name);

// Who holds the lock of a run's folder.
struct RunSeen {
  bool forbidden = false;  // the folder may not be entered
  int pid = 0;             // 0: no one
};
RunSeen look_for_run(const std::string& folder);

// BASE/NAME, made if need be, 0700, locked for as long as this lives. Beside it is BASE/NAME.temp,
// for nginx's temporary files: workers that run as another user own it, and are thus kept out of
// the folder with the control socket.
class RunFolder {
 public:
  // Throws std::runtime_error, in a line that says what to do, when the name is taken by a run that
  // lives, or when someone else could put files there. Ends what is left of a run that died.
  RunFolder(std::string_view base, std::string_view name);
  ~RunFolder();  // removes the files; the lock's file stays, since removing it would race
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }
  const std::string& scratch() const { return scratch_; }

  // Gives the scratch folder to the user that workers run as.
  void give_scratch_to(unsigned user, unsigned group) const;

  // Writes a file into the folder, whole or not at all.
  void write(std::string_view file, std::string_view text) const;

  // Puts one file of the folder in the place of another.
  void replace(std::string_view file, std::string_view with) const;

 private:
  void lock(std::string_view name);
  void end_leftovers() const;
  void remove_files() const;

  std::string path_;
  std::string scratch_;
  int lock_ = -1;
};

}  // namespace loadline::tools
