#include "query/sql/evaluate/like.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "query/sql/evaluate/utf8.h"

namespace octavo::query::sql {

namespace {

constexpr std::size_t read_between_counts = 256;
constexpr std::size_t work_per_character = 16;  // equivalent number of bytes that are only searched

/// One step of a pattern: it matches one character, or is `%`.
struct LikeStep {
  enum class Kind : std::uint8_t { any_run, any_one, one, set };
  Kind kind = Kind::one;
  std::string_view character;  ///< one: the character; set: the text between the brackets
  bool negated = false;
  std::size_t size = 0;  ///< bytes of the pattern
  std::size_t read = 1;  ///< characters that were read to decide
};

std::size_t find_set_end(std::string_view pattern, std::size_t at) {
  std::size_t end = at + 1;
  if (end < pattern.size() && pattern[end] == '^') ++end;
  if (end < pattern.size() && pattern[end] == ']') ++end;  // a bracket that comes first is part of the set
  return pattern.find(']', end);
}

LikeStep step_at(std::string_view pattern, std::size_t at, std::string_view escape) {
  LikeStep step;
  const std::size_t width = utf8::character_size(pattern, at);
  step.character = pattern.substr(at, width);
  step.size = width;
  if (!escape.empty() && step.character == escape && at + width < pattern.size()) {
    const std::size_t next = utf8::character_size(pattern, at + width);
    step.character = pattern.substr(at + width, next);
    step.size += next;
    return step;
  }
  if (step.character == "%") {
    step.kind = LikeStep::Kind::any_run;
  } else if (step.character == "_") {
    step.kind = LikeStep::Kind::any_one;
  } else if (step.character == "[") {
    const std::size_t end = find_set_end(pattern, at);
    step.read = std::min(end, pattern.size()) - at;
    if (end == std::string_view::npos) return step;
    step.kind = LikeStep::Kind::set;
    step.character = pattern.substr(at + 1, end - at - 1);
    step.negated = step.character.starts_with('^') && step.character.size() > 1;
    if (step.negated) step.character.remove_prefix(1);
    step.size = end + 1 - at;
  }
  return step;
}

bool is_in_set(std::string_view set, std::string_view character) {
  for (std::size_t i = 0; i < set.size();) {
    const std::size_t width = utf8::character_size(set, i);
    const std::string_view low = set.substr(i, width);
    i += width;
    if (i + 1 < set.size() && set[i] == '-') {
      const std::size_t high_width = utf8::character_size(set, i + 1);
      const std::string_view high = set.substr(i + 1, high_width);
      // UTF-8 sorts in the order of its characters.
      if (low <= character && character <= high) return true;
      i += 1 + high_width;
    } else if (low == character) {
      return true;
    }
  }
  return false;
}

bool matches_one(const LikeStep& step, std::string_view character) {
  switch (step.kind) {
    case LikeStep::Kind::any_run:
      return false;
    case LikeStep::Kind::any_one:
      return true;
    case LikeStep::Kind::one:
      return step.character == character;
    case LikeStep::Kind::set:
      return is_in_set(step.character, character) != step.negated;
  }
  return false;
}

}  // namespace

bool is_like(Evaluation& evaluation, std::string_view text, std::string_view pattern, std::string_view escape) {
  std::size_t at = 0;
  std::size_t in_pattern = 0;
  // Where to continue if a character does not fit: the last `%` takes one more.
  std::optional<std::size_t> retry_pattern;
  std::size_t retry_text = 0;
  std::size_t read = 0;
  while (at < text.size()) {
    const std::size_t width = utf8::character_size(text, at);
    if (in_pattern < pattern.size()) {
      const LikeStep step = step_at(pattern, in_pattern, escape);
      read += step.read;
      if (read >= read_between_counts) {
        if (!evaluation.work(read * work_per_character)) return false;
        read = 0;
      }
      if (step.kind == LikeStep::Kind::any_run) {
        in_pattern += step.size;
        retry_pattern = in_pattern;
        retry_text = at;
        continue;
      }
      if (matches_one(step, text.substr(at, width))) {
        in_pattern += step.size;
        at += width;
        continue;
      }
    }
    if (!retry_pattern || !evaluation.step()) return false;
    retry_text += utf8::character_size(text, retry_text);
    at = retry_text;
    in_pattern = *retry_pattern;
  }
  while (in_pattern < pattern.size()) {
    const LikeStep step = step_at(pattern, in_pattern, escape);
    if (step.kind != LikeStep::Kind::any_run) return false;
    in_pattern += step.size;
  }
  return true;
}

}  // namespace octavo::query::sql
