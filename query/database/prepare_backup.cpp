#include "query/database/prepare_backup.h"

#include <algorithm>
#include <string>
#include <vector>

#include "query/copy/copy_catalog.h"
#include "query/project/projection_takeover.h"

namespace octavo::query {

Expected<void> prepare_backup(storage::Catalog& catalog) {
  OCTAVO_TRY(std::vector<std::string> left_out, copy::forget_running_copies(catalog));
  OCTAVO_TRY(const auto unused, project::begin_projections_again(catalog));
  left_out.insert(left_out.end(), unused.begin(), unused.end());
  if (left_out.empty()) return {};
  OCTAVO_TRY(const auto records, catalog.all());
  for (const auto& record : records) {
    if (std::ranges::find(left_out, record.instance_tag) == left_out.end()) continue;
    OCTAVO_TRY_VOID(catalog.remove(record.name));
  }
  return {};
}

}  // namespace octavo::query
