#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "api/couch/call/call.h"

/// What the server counts, in CouchDB's structure and with its names. Statistics of CouchDB that have no counterpart
/// here are left out, except those of its system that monitoring programs require: they are 0.
namespace octavo::api::couch {

/// `/_node/{node}/_stats`: groups of `{"value":…,"type":…,"desc":…}`.
boost::json::object server_statistics(const Call& call);
/// `/_node/{node}/_system`.
boost::json::object system_facts(const Call& call);
/// Appends the statistics in the Prometheus text format, under the names of CouchDB's own endpoint: `couchdb_…`.
void append_couchdb_metrics(std::string& out, const Call& call);

}  // namespace octavo::api::couch
