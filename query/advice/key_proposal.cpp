#include "query/advice/key_proposal.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "partitioning/scan.h"
#include "query/json/date_text.h"
#include "query/json/parsed_document.h"
#include "query/json/property_path.h"

namespace octavo::query::advice {

namespace {

constexpr std::size_t documents_looked_at = 1'000;
constexpr std::chrono::milliseconds look_time_max{20};
constexpr std::size_t periods_max = 2;  // properties with months or days that are proposed
constexpr std::uint64_t values_min = 11;
constexpr std::uint64_t missing_percent_max = 1;

/// `2020-05` or `2020-05-31`: such a value closes. A time of day would make a value for each document.
bool is_period(std::string_view text) {
  constexpr std::size_t month_bytes = 7;
  constexpr std::size_t day_bytes = 10;
  if (text.size() == day_bytes) return dates::parse_date(text).has_value();
  return text.size() == month_bytes && dates::parse_date(std::string(text) + "-01").has_value();
}

/// The top-level properties of some documents.
struct Properties {
  std::uint64_t documents = 0;
  std::uint64_t with_id = 0;
  std::map<std::string, std::uint64_t, std::less<>> periods;  ///< number of documents with a period, by name
};

Expected<Properties> look(partitioning::Database& database) {
  constexpr std::size_t names_max = 1'000;
  Properties found;
  DocumentParser parser(LargeIntegers::rounded);
  partitioning::DocumentScan scan(database, {});
  const auto visit = [&](const storage::DocumentView& document, const storage::Snapshot&) {
    if (document.deleted || storage::is_design_id(document.id)) return partitioning::Visit::next;
    const auto body = parser.parse(document.body);
    simdjson::dom::object members;
    if (!body || body->get_object().get(members) != simdjson::SUCCESS) return partitioning::Visit::next;
    ++found.documents;
    for (const auto& [name, value] : members) {
      if (name == "id") ++found.with_id;
      std::string_view text;
      if (value.get_string().get(text) != simdjson::SUCCESS || !is_period(text)) continue;
      const auto known = found.periods.find(name);
      if (known != found.periods.end()) {
        ++known->second;
      } else if (found.periods.size() < names_max) {
        found.periods.emplace(name, 1);
      }
    }
    return partitioning::Visit::next;
  };
  const partitioning::ScanBudget budget{documents_looked_at, partitioning::ScanBudget::Clock::now() + look_time_max};
  OCTAVO_TRY_VOID(scan.run(budget, visit));
  return found;
}

}  // namespace

Expected<std::vector<KeyCandidate>> propose_keys(partitioning::Database& database, const RecordedRequests& recorded,
                                                 std::size_t proposals_max) {
  OCTAVO_TRY(const Properties properties, look(database));
  std::vector<KeyCandidate> proposals;
  const auto propose = [&](KeyCandidate candidate) {
    const bool is_new = std::ranges::find(proposals, candidate) == proposals.end();
    if (is_new && proposals.size() < proposals_max) proposals.push_back(std::move(candidate));
  };
  const auto single = [](AdvisedPath path) { return KeyCandidate{KeyCandidate::Kind::single, {std::move(path)}, {}}; };
  OCTAVO_TRY(auto id, AdvisedPath::parse(2 * properties.with_id > properties.documents ? "/id" : "/_id"));
  propose(single(std::move(id)));
  for (const RecordedShape& shape : recorded.shapes) {
    for (const FieldPath& field : shape.equalities) {
      // Room for the pairs.
      if (2 * proposals.size() >= proposals_max) break;
      if (auto path = AdvisedPath::of(field)) propose(single(*std::move(path)));
    }
  }
  std::vector<AdvisedPath> periods;
  for (const auto& [name, count] : properties.periods) {
    if (periods.size() == periods_max || 100 * count < (100 - missing_percent_max) * properties.documents) continue;
    if (auto path = AdvisedPath::of(property_field_path({name}))) periods.push_back(*std::move(path));
  }
  const std::vector<KeyCandidate> firsts = proposals;
  for (const AdvisedPath& period : periods) {
    for (const KeyCandidate& first : firsts) {
      if (!first.has(period)) propose({KeyCandidate::Kind::hierarchical, {first.paths.front(), period}, {}});
    }
  }
  return proposals;
}

void remove_unfit(std::vector<KeyAdvice>& proposals, std::uint64_t documents) {
  std::erase_if(proposals, [&](const KeyAdvice& advice) {
    return advice.values < values_min || 100 * advice.missing > missing_percent_max * documents;
  });
}

}  // namespace octavo::query::advice
