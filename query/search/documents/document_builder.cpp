#include "query/search/documents/document_builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <lucene++/Document.h>
#include <lucene++/Field.h>

#include "base/byte_codec.h"
#include "base/json_writer.h"
#include "query/json/parsed_document.h"
#include "query/search/documents/json_number.h"
#include "query/search/documents/number_terms.h"
#include "query/search/lucene/lucene_text.h"

namespace octavo::query::search {

namespace {

using Lucene::AbstractField;
using Lucene::Field;

void append_value(std::string& out, const IndexedField& field) {
  if (const auto* text = std::get_if<std::string>(&field.value)) {
    append_json_string(out, *text);
  } else if (const auto* number = std::get_if<double>(&field.value)) {
    append_json_double(out, *number);
  } else {
    append_json_bool(out, std::get<bool>(field.value));
  }
}

// Appends the stored fields ordered by name. The values of a field that occurs several times become an array.
void append_stored_fields(std::string& out, std::span<const IndexedField> fields) {
  std::vector<const IndexedField*> stored;
  for (const IndexedField& field : fields) {
    if (field.store) stored.push_back(&field);
  }
  if (stored.empty()) return;
  std::ranges::stable_sort(stored, {}, [](const IndexedField* field) -> const std::string& { return field->name; });
  out += '{';
  for (std::size_t i = 0; i < stored.size();) {
    std::size_t end = i + 1;
    while (end < stored.size() && stored[end]->name == stored[i]->name) ++end;
    if (i > 0) out += ',';
    append_json_string(out, stored[i]->name);
    out += end > i + 1 ? ":[" : ":";
    for (std::size_t k = i; k < end; ++k) {
      if (k > i) out += ',';
      append_value(out, *stored[k]);
    }
    if (end > i + 1) out += ']';
    i = end;
  }
  out += '}';
}

void set_term(Lucene::TermAttribute& attribute, std::string_view term) {
  const auto size = static_cast<int32_t>(term.size());
  attribute.resizeTermBuffer(size);
  wchar_t* out = attribute.termBufferArray();
  for (int32_t i = 0; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(term[static_cast<std::size_t>(i)]);
    if (byte >= 0x80) {
      const Lucene::String wide = to_wide(term);
      attribute.setTermBuffer(wide);
      return;
    }
    out[i] = static_cast<wchar_t>(byte);
  }
  attribute.setTermLength(size);
}

}  // namespace

ListTokenStream::ListTokenStream()
    : term_(addAttribute<Lucene::TermAttribute>()), position_(addAttribute<Lucene::PositionIncrementAttribute>()) {}

bool ListTokenStream::incrementToken() {
  if (next_ == tokens_.size()) return false;
  set_term(*term_, tokens_.term(next_));
  position_->setPositionIncrement(static_cast<int32_t>(tokens_[next_].increment));
  ++next_;
  return true;
}

std::optional<StoredDocument> StoredDocument::read(std::string_view bytes) {
  ByteReader reader(bytes);
  StoredDocument document;
  document.ordinal = reader.u64();
  document.id = reader.sized_bytes();
  if (!reader.ok()) return std::nullopt;
  document.fields = reader.rest();
  return document;
}

const boost::shared_ptr<ListTokenStream>& DocumentBuilder::next_stream() {
  if (streams_used_ == streams_.size()) streams_.push_back(Lucene::newLucene<ListTokenStream>());
  const auto& stream = streams_[streams_used_++];
  stream->tokens().clear();
  return stream;
}

bool DocumentBuilder::is_scored(std::string_view field) {
  if (!source_.scores_length(field)) return false;
  if (scored_.contains(field)) return true;
  if (scored_.size() == scored_fields_max) return false;
  scored_.emplace(field);
  return true;
}

std::string DocumentBuilder::scored_fields() const {
  std::string text;
  for (const std::string& name : scored_) {
    append_json_string(text, name);
    text += '\n';
  }
  return text;
}

void DocumentBuilder::know_scored_fields(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const auto name = parse_json(text.substr(0, end)); name && name->is_string()) {
      scored_.emplace(name->get_string());
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void DocumentBuilder::add_exact(const Lucene::DocumentPtr& document, const Lucene::String& name,
                                std::string_view text) {
  auto field = Lucene::newLucene<Field>(name, to_wide(text), AbstractField::STORE_NO,
                                        AbstractField::INDEX_NOT_ANALYZED_NO_NORMS);
  field->setOmitTermFreqAndPositions(true);
  document->add(field);
}

void DocumentBuilder::add_text(const Lucene::DocumentPtr& document, const IndexedField& field, std::string_view text) {
  if (field.index) {
    const auto& stream = next_stream();
    analyzers_->of(field.name).analyze(text, stream->tokens());
    auto added = Lucene::newLucene<Field>(to_wide(field.name), stream);
    if (!is_scored(field.name)) {
      added->setOmitNorms(true);
    } else if (field.boost != 1.0 && std::isfinite(field.boost) && field.boost > 0) {
      added->setBoost(field.boost);
    }
    document->add(added);
  }
  if (field.facet && !text.empty()) add_exact(document, facet_field(field.name), text);
}

void DocumentBuilder::add_number(const Lucene::DocumentPtr& document, const IndexedField& field, double number) {
  if (std::isnan(number) || (!field.index && !field.facet)) return;
  const auto& stream = next_stream();
  std::string term;
  for (int shift = 0; shift < 64; shift += number_step_bits) {
    term.clear();
    append_utf8(term, number_term(number, shift));
    stream->tokens().add(term, 0, 0);
  }
  auto added = Lucene::newLucene<Field>(number_field(field.name), stream);
  added->setOmitNorms(true);
  added->setOmitTermFreqAndPositions(true);
  document->add(added);
}

Lucene::DocumentPtr DocumentBuilder::build(const FeedDocument& source, std::uint64_t ordinal,
                                           std::span<const IndexedField> fields) {
  streams_used_ = 0;
  auto document = Lucene::newLucene<Lucene::Document>();
  add_exact(document, id_field, source.id);
  if (!source.partition_key.empty()) add_exact(document, partition_field, source.partition_key);
  for (const IndexedField& field : fields) {
    if (const auto* text = std::get_if<std::string>(&field.value)) {
      add_text(document, field, *text);
    } else if (const auto* number = std::get_if<double>(&field.value)) {
      add_number(document, field, *number);
    } else if (field.index) {
      add_exact(document, to_wide(field.name), std::get<bool>(field.value) ? "true" : "false");
    }
  }
  stored_.clear();
  ByteWriter writer(stored_);
  writer.u64(ordinal);
  writer.sized_bytes(source.id);
  append_stored_fields(stored_, fields);
  auto bytes = Lucene::ByteArray::newInstance(static_cast<int32_t>(stored_.size()));
  std::memcpy(bytes.get(), stored_.data(), stored_.size());
  document->add(Lucene::newLucene<Field>(stored_field, bytes, AbstractField::STORE_YES));
  return document;
}

}  // namespace octavo::query::search
