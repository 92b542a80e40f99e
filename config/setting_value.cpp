// Parses and prints the values of settings, by type. The rows are in setting_table.cpp.

#include <algorithm>
#include <limits>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/setting_table.h"
#include "config/value_text.h"

namespace octavo::config {

namespace {

using Failure = std::unexpected<std::string>;

// A wrong value may be a megabyte long, and must not fill the terminal.
std::string excerpt(std::string_view text) {
  constexpr std::size_t length_max = 80;
  if (text.size() <= length_max) return quote(text);
  // Cuts at the start of a UTF-8 sequence.
  std::size_t end = length_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return quote(text.substr(0, end)) + "…";
}

Failure unexpected_value(const Setting& setting, std::string_view text) {
  return Failure(fmt::format("expected {}, found {}", expectation(setting), excerpt(text)));
}

std::optional<std::uint64_t> parse_ranged(const Setting& setting, std::string_view text) {
  std::optional<std::uint64_t> value;
  if (setting.type == ValueType::size) {
    value = parse_size(text);
  } else if (setting.type == ValueType::duration) {
    if (const auto duration = parse_duration(text)) value = static_cast<std::uint64_t>(duration->count());
  } else {
    value = parse_whole_number(text);
  }
  if (value && (*value < setting.min || *value > setting.max)) value.reset();
  return value;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    auto item = text.substr(0, comma);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    if (!item.empty()) items.emplace_back(item);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return items;
}

template <class Enum>
Enum enumerator(const Setting& setting, std::string_view text) {
  const auto position = std::ranges::find(setting.choices, text);
  return static_cast<Enum>(position - setting.choices.begin());
}

}  // namespace

std::expected<void, std::string> assign(Draft& draft, const Setting& setting, std::string_view text) {
  if (setting.type == ValueType::choice && std::ranges::find(setting.choices, text) == setting.choices.end()) {
    return unexpected_value(setting, text);
  }
  return std::visit(
      [&]<class T>(T Draft::* member) -> std::expected<void, std::string> {
        T& field = draft.*member;
        if constexpr (std::is_same_v<T, bool>) {
          const auto value = parse_boolean(text);
          if (!value) return unexpected_value(setting, text);
          field = *value;
        } else if constexpr (std::is_unsigned_v<T>) {
          const auto value = parse_ranged(setting, text);
          if (!value) return unexpected_value(setting, text);
          field = static_cast<T>(*value);  // the range of every row fits its field: a test checks it
        } else if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
          const auto value = parse_ranged(setting, text);
          if (!value) return unexpected_value(setting, text);
          field = std::chrono::milliseconds(*value);
        } else if constexpr (std::is_same_v<T, std::chrono::seconds>) {
          const auto written = parse_duration(text);
          if (written && written->count() % 1000 != 0) {
            // For example a 600 without unit that was meant as seconds.
            const bool has_unit = text.find_first_not_of("0123456789") != std::string_view::npos;
            return Failure(fmt::format("expected whole seconds, found {}{}", excerpt(text),
                                       has_unit ? "" : fmt::format(", which is milliseconds: write \"{}s\"?", text)));
          }
          const auto value = parse_ranged(setting, text);
          if (!value) return unexpected_value(setting, text);
          field = std::chrono::seconds(*value / 1000);
        } else if constexpr (std::is_enum_v<T>) {
          field = enumerator<T>(setting, text);
        } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::filesystem::path>) {
          if (text.find('\0') != std::string_view::npos) return Failure("a zero byte is not allowed");
          field = std::string(text);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          field = split_list(text);
        } else {
          return Failure("can only be set in the configuration file");
        }
        return {};
      },
      setting.member);
}

void copy_value(Draft& to, const Draft& from, const Setting& setting) {
  std::visit([&](auto member) { to.*member = from.*member; }, setting.member);
}

std::string text_value(const Draft& draft, const Setting& setting) {
  return std::visit(
      [&]<class T>(T Draft::* member) -> std::string {
        const T& field = draft.*member;
        if constexpr (std::is_same_v<T, std::string>) {
          return field;
        } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
          return field.string();
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          return fmt::format("{}", fmt::join(field, ", "));
        } else {
          std::string text = toml_value(draft, setting);
          if (text.size() >= 2 && text.starts_with('"')) text = text.substr(1, text.size() - 2);
          return text;
        }
      },
      setting.member);
}

std::string toml_value(const Draft& draft, const Setting& setting) {
  return std::visit(
      [&]<class T>(T Draft::* member) -> std::string {
        const T& field = draft.*member;
        if constexpr (std::is_same_v<T, bool>) {
          return field ? "true" : "false";
        } else if constexpr (std::is_unsigned_v<T>) {
          if (setting.type != ValueType::size) return fmt::format("{}", field);
          const auto text = format_size(field);
          return text.find_first_not_of("0123456789") == std::string::npos ? text : quote(text);
        } else if constexpr (std::is_same_v<T, std::chrono::milliseconds> || std::is_same_v<T, std::chrono::seconds>) {
          return quote(format_duration(field));
        } else if constexpr (std::is_enum_v<T>) {
          return quote(setting.choices[static_cast<std::size_t>(field)]);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return quote(field);
        } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
          return quote(field.string());
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          std::vector<std::string> items;
          std::ranges::transform(field, std::back_inserter(items), [](const auto& item) { return quote(item); });
          return fmt::format("[{}]", fmt::join(items, ", "));
        } else {
          return "";
        }
      },
      setting.member);
}

std::string_view type_name(ValueType type) {
  switch (type) {
    case ValueType::boolean:
      return "boolean";
    case ValueType::number:
      return "number";
    case ValueType::size:
      return "size";
    case ValueType::duration:
      return "duration";
    case ValueType::text:
      return "text";
    case ValueType::path:
      return "path";
    case ValueType::choice:
      return "choice";
    case ValueType::list:
      return "list";
    case ValueType::table:
      return "table";
  }
  return "";
}

std::string expectation(const Setting& setting) {
  switch (setting.type) {
    case ValueType::boolean:
      return "true or false";
    case ValueType::number:
      return fmt::format("a whole number from {}", allowed_values(setting));
    case ValueType::size:
      return fmt::format("a size from {}, such as 64KiB or 8MB", allowed_values(setting));
    case ValueType::duration:
      return fmt::format("a duration from {}, such as 500ms, 10s or 2m", allowed_values(setting));
    case ValueType::text:
      return "a text";
    case ValueType::path:
      return "a path";
    case ValueType::choice:
      return fmt::format("one of {}", allowed_values(setting));
    case ValueType::list:
      return "a list of texts";
    case ValueType::table:
      return "a table of name = \"value\"";
  }
  return "";
}

std::string allowed_values(const Setting& setting) {
  switch (setting.type) {
    case ValueType::boolean:
      return "true, false";
    case ValueType::number:
      return fmt::format("{} to {}", setting.min, setting.max);
    case ValueType::size:
      return fmt::format("{} to {}", format_size(setting.min), format_size(setting.max));
    case ValueType::duration:
      return fmt::format("{} to {}", format_duration(std::chrono::milliseconds(setting.min)),
                         format_duration(std::chrono::milliseconds(setting.max)));
    case ValueType::choice:
      return fmt::format("{}", fmt::join(setting.choices, ", "));
    default:
      return "";
  }
}

}  // namespace octavo::config
