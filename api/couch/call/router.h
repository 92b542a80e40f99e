#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/couch/call/call.h"
#include "api/http/request.h"

namespace octavo::api::couch {

/// Finds the route of a path in a tree of segments. Literal segments take precedence over parameters.
///
/// Patterns: `/{db}/_all_docs`, `/{db}/{docid}`; a final `{name*}` captures all remaining segments, at least one,
/// joined by `/`. In a path `/{db}/_design/x` or `/{db}/_local/x` that no pattern names, the two segments are a
/// document id.
///
/// Immutable after construction, so thread-safe. A match allocates only the parameters.
class Router {
 public:
  explicit Router(RouteList routes);
  ~Router();

  using Parameters = std::vector<std::pair<std::string_view, std::string>>;

  struct Match {
    const Route* route = nullptr;  ///< nullptr if there is no such path, or not with this method
    Parameters parameters;
    std::string allowed_methods;  ///< such as `GET,HEAD,POST` if only the method does not match; otherwise empty
    const Route* other_method = nullptr;  ///< one of these; null if allowed_methods is empty
    std::string_view database;            ///< of the path, if allowed_methods or unknown_endpoint is set; else empty
    /// The segment `_x…` of an unknown `/{db}/_x…`, which cannot be a document's id.
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
