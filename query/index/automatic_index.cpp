#include "query/index/automatic_index.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "base/murmur3.h"
#include "query/collation/collation.h"
#include "query/json/large_integer.h"
#include "query/json/plain_strings.h"
#include "query/json/property_path.h"

namespace octavo::query {

namespace {

namespace json = boost::json;

// Part of every identity: raise it when the format of entries or rows changes, so that all are built again.
constexpr std::string_view automatic_format = "octavo-automatic-2";
constexpr std::string_view element_step = "[]";
constexpr char complete_path_mark = '+';
constexpr std::string_view unplain_member = "unplain";
constexpr std::string_view absence_member = "absence";
constexpr std::uint64_t root_path_hash = 0x6F63746176A10001;
constexpr std::uint64_t element_mark = 0x9E3779B97F4A7C15;
constexpr std::uint64_t inexact_mark = 0xD1B54A32D192ED03;

// The bytes of these keys are those of an empty array and an empty object.
constexpr std::string_view array_key{"\x08\0", 2};
constexpr std::string_view object_key{"\x09\0", 2};

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 33)) * 0xFF51AFD7ED558CCD;
  value = (value ^ (value >> 33)) * 0xC4CEB9FE1A85EC53;
  return value ^ (value >> 33);
}

std::uint64_t member_path(std::uint64_t path, std::string_view name) {
  return mix(path * 31 + murmur3_x64_128(name).low);
}

std::uint64_t element_path(std::uint64_t path) {
  return mix(path ^ element_mark);
}

std::uint64_t member_path(std::uint64_t path, const FieldPath& names) {
  for (const auto& part : names.parts()) path = member_path(path, part.name);
  return path;
}

bool cut(std::string& out, std::size_t start) {
  if (out.size() - start <= automatic_key_bytes_max) return false;
  out.resize(start + automatic_key_bytes_max);
  out += '\xFF';
  return true;
}

// A string is cut by its key, but little more is made of the key than is kept.
bool append_string(std::string& out, std::string_view text, StringOrder order) {
  const std::size_t start = out.size();
  append_beginning_of_sort_key(out, text, order, automatic_key_bytes_max);
  return cut(out, start);
}

// Only the key of a number beyond all doubles is long enough to be cut.
template <class Value>
bool append_scalar(std::string& out, const Value& value, StringOrder order) {
  const std::size_t start = out.size();
  append_sort_key(out, value, order);
  return cut(out, start);
}

void complement(std::string& out, std::size_t start) {
  for (std::size_t i = start; i < out.size(); ++i) out[i] = static_cast<char>(~out[i]);
}

const json::value* member_of(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

std::optional<std::string_view> path_text(const json::value& entry) {
  if (!entry.is_object()) return std::nullopt;
  const auto* path = member_of(entry.get_object(), "path");
  if (path == nullptr || !path->is_string()) return std::nullopt;
  return std::string_view(path->get_string());
}

std::string identity_of_path(std::uint64_t path) {
  return fmt::format("auto{:016x}", path);
}

IndexDefinition named_part(AutomaticIndexPtr automatic, std::uint64_t path, std::string name) {
  IndexDefinition definition;
  definition.name = std::move(name);
  definition.partitioned = true;
  definition.identity = identity_of_path(path);
  definition.automatic = std::move(automatic);
  definition.automatic_path = path;
  return definition;
}

}  // namespace

const AutomaticIndex::Rule* AutomaticIndex::Rule::child(std::string_view name) const {
  const auto found =
      std::ranges::lower_bound(children, name, {}, [](const auto& entry) -> std::string_view { return entry.first; });
  return found != children.end() && found->first == name ? found->second.get() : nullptr;
}

void AutomaticIndex::add_paths(const json::object& policy, std::string_view member, bool included) {
  const auto* list = member_of(policy, member);
  if (list == nullptr || !list->is_array()) return;
  json::array kept;
  for (const auto& entry : list->get_array()) {
    const auto text = path_text(entry);
    if (!text) continue;
    std::vector<std::string> names;
    bool all_below = true;
    if (*text != "/" && *text != "/*") {
      if (!text->ends_with("/*") && !text->ends_with("/?")) continue;
      all_below = text->ends_with("/*");
      auto parts = split_property_path(text->substr(0, text->size() - 2));
      if (!parts) continue;
      names = *std::move(parts);
    }
    Rule* rule = &root_;
    for (std::string& name : names) {
      auto at =
          std::ranges::lower_bound(rule->children, name, {}, &std::pair<std::string, std::unique_ptr<Rule>>::first);
      if (at == rule->children.end() || at->first != name) {
        at = rule->children.emplace(at, std::move(name), std::make_unique<Rule>());
      }
      rule = at->second.get();
    }
    (all_below ? rule->below : rule->here) = included;
    kept.push_back(json::object{{"path", *text}});
  }
  policy_[member] = std::move(kept);
}

void AutomaticIndex::add_composites(const json::object& policy) {
  const auto* list = member_of(policy, "compositeIndexes");
  if (list == nullptr || !list->is_array()) return;
  json::array kept;
  for (const auto& index : list->get_array()) {
    if (!index.is_array()) continue;
    std::vector<OrderedField> fields;
    json::array shown;
    for (const auto& entry : index.get_array()) {
      const auto text = path_text(entry);
      const auto parts = text ? split_property_path(*text) : fail(ErrorCode::bad_request, "");
      if (!parts) break;
      const auto* order = member_of(entry.get_object(), "order");
      const bool descending = order != nullptr && *order == "descending";
      fields.push_back({property_field_path(*parts), descending});
      shown.push_back(json::object{{"path", *text}, {"order", descending ? "descending" : "ascending"}});
    }
    if (fields.empty() || fields.size() != index.get_array().size()) continue;
    composite_hashes_.push_back(composite_hash(fields));
    composites_.push_back(std::move(fields));
    kept.push_back(std::move(shown));
  }
  policy_["compositeIndexes"] = std::move(kept);
}

AutomaticIndexPtr AutomaticIndex::from_policy(const json::object& policy, StringOrder order) {
  return make(policy, order, order == StringOrder::bytes);
}

AutomaticIndexPtr AutomaticIndex::make(const json::object& policy, StringOrder order, bool unplain) {
  const auto* mode = member_of(policy, "indexingMode");
  const auto* automatic = member_of(policy, "automatic");
  if (mode != nullptr && *mode == "none") return nullptr;
  if (automatic != nullptr && *automatic == false) return nullptr;
  std::shared_ptr<AutomaticIndex> index(new AutomaticIndex(order, unplain));
  index->add_paths(policy, "includedPaths", true);
  index->add_paths(policy, "excludedPaths", false);
  index->add_composites(policy);
  return index;
}

AutomaticIndexPtr AutomaticIndex::of_everything(StringOrder order) {
  return from_policy({{"includedPaths", json::array{json::object{{"path", "/*"}}}}}, order);
}

AutomaticIndexPtr AutomaticIndex::of_absence(FieldPath path) {
  OCTAVO_ASSERT(!path.empty());
  std::shared_ptr<AutomaticIndex> index(new AutomaticIndex(StringOrder::bytes, false));
  index->absent_path_ = std::move(path);
  return index;
}

AutomaticIndexPtr AutomaticIndex::from_json(const json::object& stored) {
  if (const auto* absence = member_of(stored, absence_member)) {
    auto path = absence->is_string() ? FieldPath::parse(std::string_view(absence->get_string())) : FieldPath();
    return path && !path->empty() ? of_absence(*std::move(path)) : nullptr;
  }
  const auto* order = member_of(stored, "order");
  const auto* policy = member_of(stored, "policy");
  if (order == nullptr || policy == nullptr || !policy->is_object()) return nullptr;
  if (*order != "icu" && *order != "bytes") return nullptr;
  // A record without this member belongs to an index that was built without these entries.
  const auto* unplain = member_of(stored, unplain_member);
  return make(policy->get_object(), *order == "icu" ? StringOrder::icu : StringOrder::bytes,
              unplain != nullptr && *unplain == true);
}

json::object AutomaticIndex::to_json() const {
  if (absent_path_) return {{absence_member, absent_path_->text()}};
  json::object stored{{"order", order_ == StringOrder::icu ? "icu" : "bytes"}, {"policy", policy_}};
  if (unplain_) stored[unplain_member] = true;
  return stored;
}

bool AutomaticIndex::covers(const FieldPath& base, const FieldPath* below) const {
  const Rule* rule = &root_;
  bool included = false;
  const auto enter = [&] {
    if (rule != nullptr && rule->below) included = *rule->below;
  };
  const auto step = [&](std::string_view name) {
    enter();
    if (rule != nullptr) rule = rule->child(name);
  };
  const auto walk = [&](const FieldPath& path) {
    for (const auto& part : path.parts()) {
      // A number may be an array index or a name; entries do not say which element they belong to.
      if (part.index) return false;
      step(part.name);
    }
    return true;
  };
  if (base.empty() || !walk(base)) return false;
  if (below != nullptr) {
    step(element_step);
    if (!walk(*below)) return false;
  }
  enter();
  return rule != nullptr && rule->here ? *rule->here : included;
}

std::uint64_t AutomaticIndex::path_hash(const FieldPath& base, const FieldPath* below) {
  std::uint64_t path = member_path(root_path_hash, base);
  if (below != nullptr) path = member_path(element_path(path), *below);
  return path;
}

std::uint64_t AutomaticIndex::composite_hash(const std::vector<OrderedField>& fields) {
  std::string text = "composite";
  for (const OrderedField& field : fields) {
    text += field.descending ? '-' : '+';
    append_key_u64(text, path_hash(field.path));
  }
  return murmur3_x64_128(text).low;
}

bool AutomaticIndex::append_key(std::string& out, const simdjson::dom::element& value, StringOrder order) {
  switch (value.type()) {
    case simdjson::dom::element_type::STRING:
      return append_string(out, value.get_string().value_unsafe(), order);
    case simdjson::dom::element_type::ARRAY:
      out += array_key;
      return true;
    case simdjson::dom::element_type::OBJECT:
      out += object_key;
      return true;
    default:
      return append_scalar(out, value, order);
  }
}

bool AutomaticIndex::append_key(std::string& out, const json::value& value, StringOrder order) {
  if (is_text(value)) return append_string(out, std::string_view(value.get_string()), order);
  if (value.is_array() || value.is_object()) {
    out += value.is_array() ? array_key : object_key;
    return true;
  }
  return append_scalar(out, value, order);
}

void AutomaticIndex::visit(const simdjson::dom::element& value, const Rule* rule, bool included, std::uint64_t path,
                           Entries& entries) const {
  const bool here = rule != nullptr && rule->here    ? *rule->here
                    : rule != nullptr && rule->below ? *rule->below
                                                     : included;
  if (rule != nullptr && rule->below) included = *rule->below;
  if (here && path != root_path_hash) {
    const std::size_t start = entries.bytes_.size();
    append_key_u64(entries.bytes_, path);
    const bool inexact = append_key(entries.bytes_, value, order_);
    entries.extents_.push_back({start, entries.bytes_.size() - start});
    if (inexact && !value.is_array() && !value.is_object()) add_mark(path, entries);
    if (has_unplain_entry(value)) add_unplain(path, value.get_string().value_unsafe(), entries);
  }
  if (!included && rule == nullptr) return;
  if (value.is_object()) {
    const simdjson::dom::object members = value.get_object().value_unsafe();
    for (const auto& member : members) {
      visit(member.value, rule != nullptr ? rule->child(member.key) : nullptr, included, member_path(path, member.key),
            entries);
    }
  } else if (value.is_array()) {
    const Rule* element = rule != nullptr ? rule->child(element_step) : nullptr;
    const std::uint64_t elements = element_path(path);
    const simdjson::dom::array list = value.get_array().value_unsafe();
    for (const auto& entry : list) visit(entry, element, included, elements, entries);
  }
}

bool AutomaticIndex::append_composite_key(std::string& out, const simdjson::dom::element& body,
                                          const std::vector<OrderedField>& fields, StringOrder order) {
  bool inexact = false;
  for (const OrderedField& field : fields) {
    const std::size_t start = out.size();
    if (const auto found = find_field(body, field.path)) {
      inexact = append_key(out, found.value, order) || inexact;
      if (field.descending) complement(out, start);
    } else {
      append_sort_key(out, SortSentinel::missing, field.descending);
    }
  }
  return inexact;
}

void AutomaticIndex::add_composite_entries(const IndexedDocument& document, Entries& entries) const {
  for (std::size_t i = 0; i < composites_.size(); ++i) {
    const std::size_t start = entries.bytes_.size();
    append_key_u64(entries.bytes_, composite_hashes_[i]);
    const bool inexact = append_composite_key(entries.bytes_, document.body, composites_[i], order_);
    entries.extents_.push_back({start, entries.bytes_.size() - start});
    if (inexact) add_mark(composite_hashes_[i], entries);
  }
}

void AutomaticIndex::add_mark(std::uint64_t path, Entries& entries) {
  const std::size_t start = entries.bytes_.size();
  append_key_u64(entries.bytes_, inexact_path(path));
  entries.extents_.push_back({start, entries.bytes_.size() - start});
}

bool AutomaticIndex::has_unplain_entry(const simdjson::dom::element& value) const {
  return unplain_ && value.is_string() && !is_plain_text(value.get_string().value_unsafe());
}

std::vector<std::string> AutomaticIndex::keys_of(const simdjson::dom::element& value) const {
  std::vector<std::string> keys(1);
  append_key(keys.front(), value, order_);
  if (has_unplain_entry(value)) append_unplain_key(keys.emplace_back(), value.get_string().value_unsafe());
  return keys;
}

void AutomaticIndex::add_unplain(std::uint64_t path, std::string_view text, Entries& entries) {
  const std::size_t start = entries.bytes_.size();
  append_key_u64(entries.bytes_, path);
  append_unplain_key(entries.bytes_, text);
  entries.extents_.push_back({start, entries.bytes_.size() - start});
}

void AutomaticIndex::append_unplain_key(std::string& out, std::string_view text) {
  const std::size_t start = out.size();
  append_string(out, text, StringOrder::icu);
  OCTAVO_ASSERT(start < out.size());
  out[start] = unplain_tag;
}

bool AutomaticIndex::is_unplain(std::string_view entry) {
  return entry.size() > sizeof(std::uint64_t) && entry[sizeof(std::uint64_t)] == unplain_tag;
}

std::uint64_t AutomaticIndex::inexact_path(std::uint64_t path) {
  return path ^ inexact_mark;
}

void AutomaticIndex::entries_of(const IndexedDocument& document, Entries& entries) const {
  entries.clear();
  if (absent_path_) {
    if (find_field(document.body, *absent_path_)) return;
    append_key_u64(entries.bytes_, path_hash(*absent_path_));
    append_sort_key(entries.bytes_, SortSentinel::missing);
    entries.extents_.push_back({0, entries.bytes_.size()});
    return;
  }
  visit(document.body, &root_, false, root_path_hash, entries);
  add_composite_entries(document, entries);
  const auto text = [&](const Entries::Extent& extent) {
    return std::string_view(entries.bytes_).substr(extent.start, extent.size);
  };
  std::ranges::sort(entries.extents_, {}, text);
  const auto repeated = std::ranges::unique(entries.extents_, {}, text);
  entries.extents_.erase(repeated.begin(), repeated.end());
}

IndexDefinitionPtr automatic_definition(AutomaticIndexPtr automatic) {
  OCTAVO_ASSERT(automatic != nullptr);
  IndexDefinition definition;
  definition.name = automatic->absent_path() ? "automatic, without " + automatic->absent_path()->text() : "automatic";
  definition.partitioned = true;
  std::string text =
      fmt::format("{}\n{}\n{}", automatic_format, collation_version(), json::serialize(automatic->to_json()));
  const auto hash = murmur3_x64_128(text);
  definition.identity = fmt::format("{:016x}{:016x}", hash.high, hash.low);
  definition.automatic = std::move(automatic);
  return std::make_shared<const IndexDefinition>(std::move(definition));
}

IndexDefinitionPtr automatic_path_definition(AutomaticIndexPtr automatic, const FieldPath& base,
                                             const FieldPath* below) {
  const std::uint64_t path = AutomaticIndex::path_hash(base, below);
  std::string name;
  FieldPath shown = base;
  const auto append = [&name](const FieldPath& names) {
    for (const auto& part : names.parts()) name += '/' + part.name;
  };
  append(base);
  if (below != nullptr) {
    name += "/[]";
    append(*below);
    std::string text = base.text() + ".[]";
    if (!below->empty()) text += '.' + below->text();
    shown = FieldPath::parse(text).value_or(base);
  }
  const bool has_unplain_entries = automatic->has_unplain_entries();
  IndexDefinition definition = named_part(std::move(automatic), path, std::move(name));
  definition.has_unplain_entries = has_unplain_entries;
  definition.fields.push_back({std::move(shown), false});
  if (below != nullptr) definition.elements = IndexDefinition::ElementPath{base, *below};
  return std::make_shared<const IndexDefinition>(std::move(definition));
}

bool is_of_policy(const IndexDefinition& definition) {
  return definition.automatic && !definition.automatic->absent_path();
}

IndexDefinitionPtr complete_path_definition(AutomaticIndexPtr automatic, const FieldPath& base) {
  IndexDefinition definition = *automatic_path_definition(std::move(automatic), base);
  definition.identity = complete_path_identity(base);
  definition.absence = automatic_definition(AutomaticIndex::of_absence(base));
  return std::make_shared<const IndexDefinition>(std::move(definition));
}

std::string complete_path_identity(const FieldPath& base) {
  return identity_of_path(AutomaticIndex::path_hash(base)) + complete_path_mark;
}

std::string_view index_of_path(std::string_view identity) {
  return identity.ends_with(complete_path_mark) ? identity.substr(0, identity.size() - 1) : identity;
}

IndexDefinitionPtr automatic_composite_definition(AutomaticIndexPtr automatic, std::size_t number) {
  OCTAVO_ASSERT(automatic != nullptr && number < automatic->composites().size());
  const auto& fields = automatic->composites()[number];
  std::string name;
  for (const OrderedField& field : fields) {
    if (!name.empty()) name += ',';
    for (const auto& part : field.path.parts()) name += '/' + part.name;
    name += field.descending ? " desc" : " asc";
  }
  const std::uint64_t path = AutomaticIndex::composite_hash(fields);
  auto all = fields;
  IndexDefinition definition = named_part(std::move(automatic), path, std::move(name));
  definition.fields = std::move(all);
  return std::make_shared<const IndexDefinition>(std::move(definition));
}

}  // namespace octavo::query
