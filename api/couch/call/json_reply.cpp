#include "api/couch/call/json_reply.h"

#include <utility>

#include "query/json/parsed_document.h"

namespace octavo::api::couch {

Reply json_reply(const boost::json::value& value) {
  Reply reply;
  reply.body = query::readable_json(value);
  reply.body += '\n';
  return reply;
}

Reply not_modified(std::string etag) {
  Reply reply;
  reply.status = 304;
  reply.content_type = {};
  reply.headers.emplace_back("ETag", std::move(etag));
  return reply;
}

}  // namespace octavo::api::couch
