#include "query/functions/procedures.h"

#include <algorithm>

#include "partitioning/scan.h"
#include "query/json/split.h"

namespace octavo::query {

namespace {

constexpr std::string_view procedures_member = "sprocs";
constexpr std::string_view procedures_end = "_design0";

// The function called `name`, if the document has one.
Expected<std::optional<NamedFunction>> procedure_of(const storage::DocumentView& document, std::string_view name) {
  if (document.deleted || document.body.find("\"sprocs\"") == std::string_view::npos) return std::nullopt;
  const auto procedures = procedures_of(document.body);
  if (!procedures) return std::nullopt;  // invalid: a replicated document is not checked
  const auto found = std::ranges::find(*procedures, name, &NamedFunction::name);
  if (found == procedures->end()) return std::nullopt;
  return NamedFunction{std::string(document.id) + " sproc " + found->name, found->source};
}

}  // namespace

Expected<std::vector<NamedFunction>> procedures_of(std::string_view body) {
  OCTAVO_TRY(const auto members, split_object(body));
  const std::string_view raw = member_value(members, procedures_member);
  std::vector<NamedFunction> procedures;
  if (raw.empty()) return procedures;
  if (!raw.starts_with('{')) {
    return fail(ErrorCode::bad_request, "`sprocs` field must have object type", "invalid_design_doc");
  }
  OCTAVO_TRY(const auto functions, split_object(raw));
  for (const auto& member : functions) {
    if (!member.raw.starts_with('"')) {
      return fail(ErrorCode::bad_request, "`sprocs." + member.name + "` field must have string type",
                  "invalid_design_doc");
    }
    OCTAVO_TRY(auto source, decode_json_string(member.raw));
    procedures.push_back({member.name, std::move(source)});
  }
  return procedures;
}

Expected<NamedFunction> find_procedure(partitioning::Database& database, std::string_view name) {
  const auto missing = [&] { return fail(ErrorCode::not_found, "missing stored procedure " + std::string(name)); };
  if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos) {
    const std::string id = std::string(storage::design_prefix) + std::string(name.substr(0, slash));
    OCTAVO_TRY(const auto snapshot, database.snapshot_for_document(id));
    OCTAVO_TRY(const auto document, snapshot.find(id));
    if (!document) return missing();
    OCTAVO_TRY(auto found, procedure_of(*document, name.substr(slash + 1)));
    if (!found) return missing();
    return *std::move(found);
  }
  partitioning::DocumentRange range;
  range.start = std::string(storage::design_prefix);
  range.end = std::string(procedures_end);
  range.end_inclusive = false;
  partitioning::DocumentScan scan(database, std::move(range));
  std::optional<NamedFunction> found;
  const auto visit = [&](const storage::DocumentView& document, const storage::Snapshot&) {
    if (auto procedure = procedure_of(document, name)) found = *std::move(procedure);
    return found ? partitioning::Visit::stop : partitioning::Visit::next;
  };
  for (auto state = partitioning::ScanState::more; state == partitioning::ScanState::more;) {
    OCTAVO_TRY(state, scan.run(partitioning::ScanBudget::worker_slice(), visit));
  }
  if (!found) return missing();
  return *std::move(found);
}

}  // namespace octavo::query
