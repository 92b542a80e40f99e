// JSON bodies: any text. What the normaliser takes must be what simdjson and Boost.JSON take, and mean the same.
#include <algorithm>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <simdjson.h>

#include "base/json_writer.h"
#include "fuzz/target.h"
#include "query/index/raw_field.h"
#include "query/json/normalize.h"
#include "query/json/parsed_document.h"
#include "query/json/split.h"

namespace {

using namespace octavo;
using namespace octavo::query;
using octavo::fuzz::require;

/// The text without white space outside of strings.
std::string minified(std::string_view text) {
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!in_string && (c == ' ' || c == '\n' || c == '\r' || c == '\t')) continue;
    out.push_back(c);
    if (in_string && c == '\\' && i + 1 < text.size()) {
      out.push_back(text[++i]);
    } else if (c == '"') {
      in_string = !in_string;
    }
  }
  return out;
}

int depth_of(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '{' || c == '[')) {
      deepest = std::max(deepest, ++depth);
    } else if (!in_string && (c == '}' || c == ']')) {
      --depth;
    }
  }
  return deepest;
}

enum class Verdict { valid, invalid, unsure };

/// What the two others say of a text. They disagree with everyone about numbers out of range only.
Verdict verdict_of(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = json_depth_max;
  boost::json::error_code error;
  boost::json::parse(boost::json::string_view(text.data(), text.size()), error, {}, options);
  const bool boost_valid = !error;
  if (error == boost::json::error::exponent_overflow) return Verdict::unsure;

  static simdjson::dom::parser parser;
  simdjson::dom::element root;
  const simdjson::padded_string padded(text);
  const auto code = parser.parse(padded).get(root);
  if (code == simdjson::NUMBER_ERROR) return boost_valid ? Verdict::valid : Verdict::invalid;
  // A byte order mark is no JSON to Boost nor to us.
  if (!text.starts_with("\xEF\xBB\xBF") && depth_of(text) <= json_depth_max) {
    require(boost_valid == (code == simdjson::SUCCESS),
            "simdjson and Boost agree, or there is nothing to compare with");
  }
  return boost_valid ? Verdict::valid : Verdict::invalid;
}

void check_members(std::string_view normal, const boost::json::object& object) {
  const auto members = split_object(normal);
  require(members.has_value(), "a normal object splits");
  require(members->size() == object.size(), "splitting finds all members");
  for (const JsonMember& member : *members) {
    const auto* value = object.if_contains(member.name);
    require(value != nullptr, "a member has the name that Boost reads");
    std::string again;
    require(normalize_value(member.raw, again).has_value() && again == member.raw, "a member is normal by itself");
    require(member_value(*members, member.name).data() == member.raw.data(), "a member is found by its name");
    std::string path;
    for (const char c : member.name) {
      if (c == '.' || c == '\\') path.push_back('\\');
      path.push_back(c);
    }
    const auto field = FieldPath::parse(path);
    if (!field || !field->is(member.name)) continue;
    require(find_raw_field(normal, *field) == member.raw, "a field is found in the text");
    std::string name;
    append_json_string(name, member.name);
    const auto decoded = decode_json_string(name);
    require(decoded && *decoded == member.name, "a name survives being written and read");
  }
}

void check_document(std::string_view text, const boost::json::object& object) {
  std::string out;
  std::vector<SpecialField> special;
  if (!normalize_document(text, out, special)) {
    const auto underscored =
        std::ranges::count_if(object, [](const auto& member) { return member.key().starts_with('_'); });
    require(underscored > 64, "a valid object is a document");
    return;
  }
  const auto body = parse_json(out)->as_object();
  boost::json::object whole = body;
  for (const SpecialField& field : special) {
    require(field.name.starts_with('_') && !body.contains(field.name), "special fields are taken out");
    std::string raw;
    require(normalize_value(field.raw, raw).has_value(), "a special field is JSON");
    whole[field.name] = *parse_json(raw);
  }
  for (const auto& member : body) require(!member.key().starts_with('_'), "no special field stays");
  require(whole == object, "nothing is lost between body and special fields");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  std::string normal = "before";
  const auto normalized = normalize_value(text, normal);
  require(normal.starts_with("before"), "output is appended");
  normal.erase(0, 6);

  const Verdict verdict = verdict_of(text);
  const auto parsed = parse_json(text);
  require(parsed.has_value() == (verdict == Verdict::valid), "request bodies are read by the same rules");
  if (verdict != Verdict::unsure) {
    require(normalized.has_value() == (verdict == Verdict::valid), "valid exactly when the others say so");
  }
  // Whatever the text is, these must not read beyond it.
  const auto object_parts = split_object(text, 100);
  const auto array_parts = split_array(text, 100);
  (void)decode_json_string(text);
  DocumentParser parser;
  (void)parser.parse(text);
  if (!normalized) {
    require(normal.empty(), "nothing is written for invalid text");
    return 0;
  }

  std::string again;
  require(normalize_value(normal, again).has_value() && again == normal, "normalising is idempotent");
  const std::string squeezed = minified(text);
  require(normal.size() <= squeezed.size(), "nothing is added");
  if (normal.size() == squeezed.size()) require(normal == squeezed, "only white space goes");
  require(parser.parse(normal).has_value(), "what is stored can be read");
  if (verdict == Verdict::unsure) return 0;

  const boost::json::value& value = *parsed;
  const auto reread = parse_json(normal);
  require(reread && *reread == value, "the value stays the same");
  if (value.is_object()) {
    require(object_parts || value.get_object().size() > 100 || object_parts.error().code == ErrorCode::too_large,
            "a valid object splits");
    check_members(normal, value.get_object());
    check_document(text, value.get_object());
  } else if (value.is_array()) {
    require(array_parts.has_value() == (value.get_array().size() <= 100), "a valid array splits");
    if (array_parts) require(array_parts->size() == value.get_array().size(), "into its elements");
  } else {
    std::string out;
    std::vector<SpecialField> special;
    require(!normalize_document(text, out, special) && out.empty(), "only an object is a document");
    if (value.is_string()) {
      const auto decoded = decode_json_string(normal);
      require(decoded && *decoded == std::string_view(value.get_string()), "strings decode as Boost decodes them");
    }
  }
  return 0;
}
