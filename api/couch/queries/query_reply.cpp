#include "api/couch/queries/query_reply.h"

#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "base/json_writer.h"

namespace octavo::api::couch {

void append_execution_stats(std::string& out, const query::WalkStatistics& read, std::optional<bool> by_quorum,
                            std::chrono::steady_clock::time_point started, const boost::json::array& plans) {
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - started;
  const auto append = [&out](std::string_view name, std::uint64_t number) {
    append_json_key(out, name);
    append_json_number(out, number);
  };
  out += ",\n\"execution_stats\":{";
  append("total_keys_examined", read.keys_examined);
  append("total_docs_examined", by_quorum.value_or(false) ? 0 : read.documents_examined);
  if (by_quorum) append("total_quorum_docs_examined", *by_quorum ? read.documents_examined : 0);
  append("results_returned", read.results_returned);
  if (!plans.empty()) out.append(",\"plans\":").append(boost::json::serialize(plans));
  fmt::format_to(std::back_inserter(out), ",\"execution_time_ms\":{:.3f}}}", elapsed.count());
}

}  // namespace octavo::api::couch
