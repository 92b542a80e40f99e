#pragma once

#include <boost/json.hpp>

#include "api/http/reply.h"
#include "query/plan/charge_estimate.h"

/// `Prefer: dry-run`: shows what a query would do and cost, without running it. An extension of the CouchDB API.
namespace octavo::api::couch {

/// `reply` with the estimate added.
Reply dry_run_reply(boost::json::object reply, const query::ChargeEstimate& estimate);

}  // namespace octavo::api::couch
