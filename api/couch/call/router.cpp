#include "api/couch/call/router.h"

#include <algorithm>
#include <span>

#include "base/assert.h"

namespace octavo::api::couch {

namespace {

constexpr std::size_t method_count = static_cast<std::size_t>(Method::other) + 1;
constexpr std::size_t parameters_max = 8;

std::size_t slot(Method method) {
  return static_cast<std::size_t>(method);
}

// Paths where CouchDB's list of allowed methods differs from the list of our routes, or from its order. Clients and
// people compare these texts.
struct AllowedMethods {
  std::string_view pattern;
  std::string_view methods;
};
constexpr std::array allowed_methods_by_pattern{
    AllowedMethods{"/_uuids", "GET"},
    AllowedMethods{"/_session", "GET,HEAD,POST,DELETE"},
    AllowedMethods{"/{db}", "DELETE,GET,HEAD,POST"},
    AllowedMethods{"/{db}/_changes", "GET,POST,HEAD"},
    AllowedMethods{"/{db}/_index", "GET,POST"},
    AllowedMethods{"/{db}/_partition/{partition}", "GET"},
    AllowedMethods{"/{db}/_revs_limit", "PUT,GET"},
    AllowedMethods{"/{db}/_security", "PUT,GET"},
};

bool is_parameter(std::string_view segment) {
  return segment.starts_with('{') && segment.ends_with('}');
}

std::vector<std::string_view> split_pattern(std::string_view pattern) {
  std::vector<std::string_view> parts;
  pattern.remove_prefix(1);
  while (!pattern.empty()) {
    const auto end = pattern.find('/');
    parts.push_back(pattern.substr(0, end));
    pattern = end == std::string_view::npos ? std::string_view{} : pattern.substr(end + 1);
  }
  return parts;
}

std::string join(std::span<const std::string> segments) {
  std::string joined;
  for (const auto& segment : segments) {
    if (&segment != segments.data()) joined += '/';
    joined += segment;
  }
  return joined;
}

}  // namespace

struct Router::Node {
  std::vector<std::pair<std::string_view, std::unique_ptr<Node>>> literals;  // few per node: a scan is fastest
  std::unique_ptr<Node> parameter;
  std::string_view parameter_name;
  std::unique_ptr<Node> rest;
  std::string_view rest_name;
  std::array<const Route*, method_count> routes{};

  const Route* any_route() const {
    const auto found = std::ranges::find_if(routes, [](const Route* route) { return route != nullptr; });
    return found == routes.end() ? nullptr : *found;
  }
  bool is_end() const { return any_route() != nullptr; }

  std::string allowed_methods() const {
    std::string methods;
    for (const auto method : {Method::del, Method::get, Method::post, Method::put, Method::copy}) {
      const auto* route = routes[slot(method)];
      if (route == nullptr) continue;
      for (const auto& known : allowed_methods_by_pattern) {
        if (known.pattern == route->pattern) return std::string(known.methods);
      }
      if (!methods.empty()) methods += ',';
      methods += to_string(method);
      if (method == Method::get) methods += ",HEAD";
    }
    return methods;
  }

  const Node* literal(std::string_view segment) const {
    for (const auto& [name, node] : literals) {
      if (name == segment) return node.get();
    }
    return nullptr;
  }
};

// One attempt to match. Parameters are captured as ranges of segments, so that backtracking costs nothing.
struct Router::Walk {
  struct Capture {
    std::string_view name;
    std::span<const std::string> segments;
  };

  std::span<const std::string> segments;
  bool two_part_ids;  // `_design/x` and `_local/x` are captured as one parameter
  std::array<Capture, parameters_max> captures{};
  std::size_t captured = 0;

  const Node* descend(const Node& node, std::size_t position) {
    if (position == segments.size()) return node.is_end() ? &node : nullptr;
    const auto& segment = segments[position];
    const bool two_parts = two_part_ids && position == 1 && segments.size() > 2;
    if (!two_parts) {
      if (const auto* next = node.literal(segment)) {
        if (const auto* found = descend(*next, position + 1)) return found;
      }
    }
    if (node.parameter) {
      const std::size_t width = two_parts ? 2 : 1;
      captures[captured++] = {node.parameter_name, segments.subspan(position, width)};
      if (const auto* found = descend(*node.parameter, position + width)) return found;
      --captured;
    }
    if (node.rest) {
      captures[captured++] = {node.rest_name, segments.subspan(position)};
      return node.rest.get();
    }
    return nullptr;
  }
};

Router::Router(RouteList routes) : routes_(std::move(routes)), root_(std::make_unique<Node>()) {
  for (const auto& route : routes_) add(route);
}

Router::~Router() = default;

void Router::add(const Route& route) {
  auto* node = root_.get();
  for (const auto part : split_pattern(route.pattern)) {
    if (is_parameter(part)) {
      auto name = part.substr(1, part.size() - 2);
      const bool rest = name.ends_with('*');
      if (rest) name.remove_suffix(1);
      auto& child = rest ? node->rest : node->parameter;
      auto& child_name = rest ? node->rest_name : node->parameter_name;
      if (!child) child = std::make_unique<Node>();
      OCTAVO_ASSERT(child_name.empty() || child_name == name);
      child_name = name;
      node = child.get();
      continue;
    }
    auto found = std::ranges::find(node->literals, part, &decltype(node->literals)::value_type::first);
    if (found == node->literals.end()) {
      node->literals.emplace_back(part, std::make_unique<Node>());
      found = std::prev(node->literals.end());
    }
    node = found->second.get();
  }
  OCTAVO_ASSERT(node->routes[slot(route.method)] == nullptr);
  node->routes[slot(route.method)] = &route;
}

Router::Match Router::match(Method method, const std::vector<std::string>& segments) const {
  const bool may_be_endpoint = segments.size() > 1 && segments[1].starts_with('_') &&
                               !segments[1].starts_with("_design/") &&  // ids with an encoded slash
                               !segments[1].starts_with("_local/");
  if (may_be_endpoint && root_->literal(segments[0]) == nullptr && root_->parameter &&
      root_->parameter->literal(segments[1]) == nullptr) {
    Match unknown;
    unknown.database = segments[0];
    unknown.unknown_endpoint = segments[1];
    return unknown;
  }
  Walk walk{.segments = segments, .two_part_ids = false};
  // This does not apply to the server's own paths: `/_node/_local/…` names no document.
  const bool two_parts = segments.size() > 2 && (segments[1] == "_design" || segments[1] == "_local") &&
                         root_->literal(segments[0]) == nullptr;
  const Node* node = nullptr;
  if (two_parts) {
    // A pattern that is more specific than `{docid}/{attachment*}` takes precedence.
    if (const auto* database = root_->parameter.get()) {
      if (const auto* prefix = database->literal(segments[1])) {
        walk.captures[walk.captured++] = {root_->parameter_name, walk.segments.subspan(0, 1)};
        node = walk.descend(*prefix, 2);
      }
    }
    if (node == nullptr) {
      walk = Walk{.segments = segments, .two_part_ids = true};
      node = walk.descend(*root_, 0);
    }
  } else {
    node = walk.descend(*root_, 0);
  }

  Match match;
  if (node == nullptr) return match;
  match.route = node->routes[slot(method == Method::head ? Method::get : method)];
  if (match.route == nullptr) {
    match.allowed_methods = node->allowed_methods();
    match.other_method = node->any_route();
    if (walk.captured > 0 && walk.captures[0].name == "db") match.database = walk.captures[0].segments.front();
    return match;
  }
  match.parameters.reserve(walk.captured);
  for (std::size_t i = 0; i < walk.captured; ++i) {
    const auto& capture = walk.captures[i];
    match.parameters.emplace_back(capture.name,
                                  capture.segments.size() == 1 ? capture.segments.front() : join(capture.segments));
  }
  return match;
}

}  // namespace octavo::api::couch
