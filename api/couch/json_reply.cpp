#include "api/couch/json_reply.h"

#include <boost/json/serialize.hpp>

namespace octavo::api::couch {

Reply json_reply(const boost::json::value& value) {
  Reply reply;
  reply.body = boost::json::serialize(value);
  reply.body += '\n';
  return reply;
}

}  // namespace octavo::api::couch
