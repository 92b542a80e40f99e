#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/couch/call.h"
#include "api/http/request.h"

namespace octavo::api::couch {

/// Finds the route of a path: a tree by segments, in which literal segments beat parameters.
///
/// Patterns: `/{db}/_all_docs`, `/{db}/{docid}`; a last `{name*}` takes all segments that are left, at least one,
/// joined by `/`. A path `/{db}/_design/x` or `/{db}/_local/x` that no pattern names is a document id of two segments.
///
/// Immutable once built, so thread-safe. A match allocates nothing but the parameters.
class Router {
 public:
  explicit Router(RouteList routes);
  ~Router();

  using Parameters = std::vector<std::pair<std::string_view, std::string>>;

  struct Match {
    const Route* route = nullptr;  ///< nullptr: no such path, or not with this method
    Parameters parameters;
    std::string allowed_methods;  ///< `GET,HEAD,POST` when the path exists and the method does not fit; else empty
    std::string_view database;    ///< then: the database the path names; empty outside of databases
    /// `/{db}/_x…` of which nothing is known: no document's id begins so. Names the database, too.
    std::string_view unknown_endpoint;
  };
  Match match(Method method, const std::vector<std::string>& segments) const;

 private:
  struct Node;
  struct Walk;
  void add(const Route& route);

  RouteList routes_;
  std::unique_ptr<Node> root_;
};

}  // namespace octavo::api::couch
