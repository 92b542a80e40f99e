#include "tests/crash/layer/fault_rules.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <optional>
#include <vector>

#include "tests/crash/layer/raw_calls.h"

namespace file_layer {
namespace {

constexpr std::uint64_t block_bytes = 4096;

constexpr std::array<std::string_view, 8> operation_names = {"write", "synced-write", "fsync",  "fdatasync",
                                                             "open",  "create",       "rename", "unlink"};

struct Rule {
  int error = 0;
  std::uint64_t delay_ms = 0;
  std::string_view operation;
  std::string_view path;
  std::optional<std::uint64_t> after;
  std::uint64_t skip = 0;
  std::uint64_t times = ~std::uint64_t{0};

  bool matches(Operation what, std::string_view where) const {
    if (!path.empty() && where.find(path) == std::string_view::npos) return false;
    if (operation == "any" || operation == operation_names[static_cast<std::size_t>(what)]) return true;
    if (operation == "write") return what == Operation::synced_write;
    if (operation == "sync") return what == Operation::fsync || what == Operation::fdatasync;
    return operation == "open" && what == Operation::create;
  }
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::uint64_t number_of(std::string_view text) {
  return std::strtoull(std::string(text).c_str(), nullptr, 10);
}

/// Throws nothing away silently: a rule that cannot be read ends the program, as a test would otherwise prove nothing.
Rule parse_rule(std::string_view line) {
  const std::vector<std::string_view> words = split(line, ' ');
  if (words.size() < 2) give_up("a rule needs an error and an operation");
  Rule rule;
  static const std::map<std::string_view, int> error_codes = {
      {"eio", EIO}, {"enospc", ENOSPC}, {"edquot", EDQUOT}, {"enomem", ENOMEM}, {"emfile", EMFILE}, {"erofs", EROFS}};
  if (const auto known = error_codes.find(words[0]); known != error_codes.end()) {
    rule.error = known->second;
  } else if (words[0].starts_with("delay=")) {
    rule.delay_ms = number_of(words[0].substr(6));
  } else {
    give_up("a rule names an unknown error");
  }
  rule.operation = words[1];
  if (rule.operation != "any" && rule.operation != "sync" &&
      std::find(operation_names.begin(), operation_names.end(), rule.operation) == operation_names.end()) {
    give_up("a rule names an unknown operation");
  }
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::size_t equals = std::min(words[i].find('='), words[i].size() - 1);
    const std::string_view name = words[i].substr(0, equals + 1);
    const std::string_view value = words[i].substr(equals + 1);
    if (name == "path=") {
      rule.path = value;
    } else if (name == "after=") {
      rule.after = number_of(value);
    } else if (name == "skip=") {
      rule.skip = number_of(value);
    } else if (name == "times=") {
      rule.times = number_of(value);
    } else {
      give_up("a rule has an unknown option");
    }
  }
  return rule;
}

}  // namespace

bool FaultRules::permits(Operation what, std::string_view path, std::size_t* bytes, std::uint64_t growth) {
  if (control_file_.empty()) return true;
  const ErrnoKeeper keeper;
  const std::lock_guard lock(mutex_);
  delay_ms_ = 0;
  failing_ = decide(what, path, bytes, growth, delay_ms_);
  return failing_ == 0;
}

void FaultRules::wait() {
  if (delay_ms_ == 0) return;
  const ErrnoKeeper keeper;
  const timespec pause{static_cast<time_t>(delay_ms_ / 1000), static_cast<long>(delay_ms_ % 1000 * 1'000'000)};
  nanosleep(&pause, nullptr);
  delay_ms_ = 0;
}

std::string FaultRules::read() const {
  std::string text;
  const int fd = static_cast<int>(raw_open(AT_FDCWD, control_file_.c_str(), O_RDONLY | O_CLOEXEC, 0));
  if (fd < 0) return text;
  std::array<char, 4096> buffer{};
  for (long n = 0; (n = syscall(SYS_read, fd, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  syscall(SYS_close, fd);
  return text;
}

int FaultRules::decide(Operation what, std::string_view path, std::size_t* bytes, std::uint64_t growth,
                       std::uint64_t& delay_ms) {
  const std::string text = read();
  const std::vector<std::string_view> lines = split(text, '\n');
  std::erase_if(states_, [&](const auto& entry) {
    return std::find(lines.begin(), lines.end(), std::string_view(entry.first)) == lines.end();
  });
  for (const std::string_view line : lines) {
    if (line.starts_with('#')) continue;
    const Rule rule = parse_rule(line);
    State& state = states_[std::string(line)];
    if (!rule.matches(what, path)) continue;
    if (rule.after && !fills_up(*rule.after, state, bytes, growth)) continue;
    if (++state.matched <= rule.skip || state.failed >= rule.times) continue;
    ++state.failed;
    delay_ms = rule.delay_ms;
    report(what, path, line);
    return rule.error;
  }
  return 0;
}

bool FaultRules::fills_up(std::uint64_t after, State& state, std::size_t* bytes, std::uint64_t growth) {
  if (growth == 0) return false;
  const std::uint64_t left = after - std::min(after, state.grown);
  if (growth <= left) {
    state.grown += growth;
    return false;
  }
  const std::uint64_t fits = left / block_bytes * block_bytes;
  if (bytes == nullptr || *bytes - growth + fits == 0) return true;
  // The kernel does the same: it writes what fits, and the next call fails.
  *bytes = *bytes - growth + fits;
  state.grown += fits;
  return false;
}

void FaultRules::report(Operation what, std::string_view path, std::string_view line) const {
  const std::string text = std::string(operation_names[static_cast<std::size_t>(what)]) + ' ' + std::string(path) +
                           ' ' + std::string(line.substr(0, line.find(' '))) + '\n';
  const std::string fired = control_file_ + ".fired";
  const int fd = static_cast<int>(raw_open(AT_FDCWD, fired.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (fd < 0) return;
  static_cast<void>(raw_write_all(fd, text));
  syscall(SYS_close, fd);
}

}  // namespace file_layer
