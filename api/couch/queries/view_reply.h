#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/couch/call/sliced_reply.h"
#include "api/couch/queries/view_query.h"
#include "partitioning/database.h"
#include "query/view/view_group.h"

namespace octavo::api::couch {

/// The view that a request queries. The index of its group is as current as the query requires.
struct ViewTarget {
  std::shared_ptr<partitioning::Database> database;
  std::shared_ptr<query::views::ViewGroup> group;
  std::size_t view = 0;
};

/// The reply to one checked query, without its final newline.
/// Errors: query_parse_error "No rows can match your key range, …".
Expected<std::unique_ptr<SliceProducer>> make_view_reply(const ViewTarget& target, ViewQuery query);

/// One reply, with its newline.
std::unique_ptr<SliceProducer> single_view_reply(std::unique_ptr<SliceProducer> answer);
/// `{"results":[reply, …]}`.
std::unique_ptr<SliceProducer> several_view_replies(std::vector<std::unique_ptr<SliceProducer>> answers);

}  // namespace octavo::api::couch
