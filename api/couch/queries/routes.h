#pragma once

#include "api/couch/call/call.h"

namespace octavo::api::couch {

void add_all_docs_routes(RouteList& routes);  ///< all_docs.cpp: _all_docs, _design_docs, _local_docs
void add_find_routes(RouteList& routes);      ///< find.cpp: _find, _explain
void add_index_routes(RouteList& routes);     ///< index.cpp: _index
void add_search_routes(RouteList& routes);    ///< search.cpp: _search, _search_info, _search_analyze, …
void add_sql_routes(RouteList& routes);       ///< sql.cpp: _sql
void add_view_routes(RouteList& routes);      ///< view.cpp: _design/{ddoc}/_view, _info, _view_cleanup

}  // namespace octavo::api::couch
