#include "api/couch/call/json_reply.h"

#include "query/json/large_integer.h"

namespace octavo::api::couch {

Reply json_reply(const boost::json::value& value) {
  Reply reply;
  reply.body = query::serialize_json(value);
  reply.body += '\n';
  return reply;
}

}  // namespace octavo::api::couch
