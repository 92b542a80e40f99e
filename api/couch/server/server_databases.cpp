#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include <boost/json.hpp>

#include "api/couch/auth/authenticator.h"
#include "api/couch/call/database_info.h"
#include "api/couch/call/errors.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/server/server.h"
#include "base/json_writer.h"
#include "query/json/parsed_document.h"

namespace octavo::api::couch {

namespace {

constexpr std::size_t names_inline = 1000;       // read on an I/O thread
constexpr std::size_t names_per_slice = 10'000;  // read at a time on a worker
constexpr std::size_t dbs_info_keys_max = 100;   // CouchDB's max_db_number_for_dbs_info_req

/// The names of databases are for server admins, unless the settings open them to everyone.
Expected<void> check_list_access(const Call& call) {
  const auto& services = call.services;
  if (!services.settings.admin_only_all_dbs) return {};
  return check_access(Access::server_admin, call.user, nullptr, services.authenticator.has_admins());
}

/// The position of a key of any JSON type among the names: all names are strings, and CouchDB sorts by type first.
struct NameBound {
  enum class Side : std::uint8_t { below_all, at_name, above_all };
  Side side = Side::at_name;
  std::string name;
};

struct NameRange {
  std::optional<NameBound> start;
  std::optional<NameBound> end;
  bool descending = false;
  bool inclusive_end = true;
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t skip = 0;
};

Expected<std::optional<NameBound>> read_bound(const Request& request, std::string_view name, std::string_view alias) {
  auto text = request.parameter(name);
  if (!text) text = request.parameter(alias);
  if (!text) return std::nullopt;
  OCTAVO_TRY(const auto value, query::parse_json(*text));
  if (value.is_string()) return NameBound{NameBound::Side::at_name, std::string(value.get_string())};
  const bool above = value.is_array() || value.is_object();
  return NameBound{above ? NameBound::Side::above_all : NameBound::Side::below_all, ""};
}

Expected<NameRange> read_range(const Request& request) {
  NameRange range;
  OCTAVO_TRY(range.start, read_bound(request, "startkey", "start_key"));
  OCTAVO_TRY(range.end, read_bound(request, "endkey", "end_key"));
  if (const auto text = request.parameter("descending")) {
    OCTAVO_TRY(range.descending, ParameterValue(*text).as_boolean());
  }
  if (const auto text = request.parameter("inclusive_end")) {
    OCTAVO_TRY(range.inclusive_end, ParameterValue(*text).as_boolean());
  }
  if (const auto text = request.parameter("limit")) {
    OCTAVO_TRY(range.limit, ParameterValue(*text).as_count());
  }
  if (const auto text = request.parameter("skip")) {
    OCTAVO_TRY(range.skip, ParameterValue(*text).as_count());
  }
  return range;
}

/// Negative, zero or positive if `name` is before, at or after the bound in the listing's direction.
int compare(const std::string& name, const NameBound& bound, bool descending) {
  int order = name.compare(bound.name);
  if (bound.side == NameBound::Side::below_all) order = 1;
  if (bound.side == NameBound::Side::above_all) order = -1;
  return descending ? -order : order;
}

/// Walks the names in a range in parts: there may be a hundred thousand, and no thread may be blocked that long.
class NameWalk {
 public:
  NameWalk(partitioning::Engine& engine, NameRange range) : engine_(engine), range_(std::move(range)) {
    const auto& start = range_.start;
    if (start && start->side == NameBound::Side::at_name) {
      from_ = start->name;
    } else if (start && compare(std::string(), *start, range_.descending) < 0) {
      done_ = true;  // every name is before this start
    }
  }

  bool done() const { return done_; }
  /// The next names; reads at most `count_max`.
  std::vector<std::string> next(std::size_t count_max) {
    auto names = engine_.databases().names_from(from_, inclusive_, range_.descending, count_max);
    if (names.size() < count_max) done_ = true;
    if (!names.empty()) from_ = names.back();
    inclusive_ = false;
    const auto past_end = std::ranges::find_if(names, [this](const std::string& name) { return is_past_end(name); });
    if (past_end != names.end()) done_ = true;
    names.erase(past_end, names.end());
    const auto skipped = std::min<std::uint64_t>(range_.skip, names.size());
    names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(skipped));
    range_.skip -= skipped;
    if (names.size() >= range_.limit) {
      names.resize(range_.limit);
      done_ = true;
    }
    range_.limit -= names.size();
    return names;
  }

 private:
  bool is_past_end(const std::string& name) const {
    if (!range_.end) return false;
    const int order = compare(name, *range_.end, range_.descending);
    return range_.inclusive_end ? order > 0 : order >= 0;
  }

  partitioning::Engine& engine_;
  NameRange range_;
  std::optional<std::string> from_;
  bool inclusive_ = true;
  bool done_ = false;
};

void append_names(std::string& out, const std::vector<std::string>& names, bool& first) {
  for (const std::string& name : names) {
    if (!std::exchange(first, false)) out += ',';
    append_json_string(out, name);
  }
}

Task<void> send_names(partitioning::Engine& engine, std::unique_ptr<NameWalk> walk, bool first, BodySink& sink) {
  while (!walk->done()) {
    std::string piece;
    auto work = [&] { append_names(piece, walk->next(names_per_slice), first); };
    co_await engine.workers().run_blocking(std::move(work));
    if (piece.empty()) continue;
    const bool alive = co_await sink.write(piece);
    if (!alive) co_return;
  }
  co_await sink.write("]\n");
}

Task<Expected<Reply>> get_all_dbs(Call& call) {
  OCTAVO_CO_TRY_VOID(check_list_access(call));
  OCTAVO_CO_TRY(auto range, read_range(call.request));
  auto& engine = call.services.engine;
  auto walk = std::make_unique<NameWalk>(engine, std::move(range));
  Reply reply;
  reply.body = "[";
  bool first = true;
  if (!walk->done()) append_names(reply.body, walk->next(names_inline), first);
  if (walk->done()) {
    reply.body += ']';
    co_return reply;
  }
  reply.stream = [&engine, walk = std::move(walk), first](BodySink& sink) mutable {
    return send_names(engine, std::move(walk), first, sink);
  };
  co_return reply;
}

/// One element of the reply. Empty if the database was deleted meanwhile, unless the client requested it by name.
std::string info_of(partitioning::Engine& engine, const std::string& name, bool asked_for) {
  std::string out = R"({"key":)";
  append_json_string(out, name);
  const auto database = engine.open_database(name);
  if (!database && database.error().code == ErrorCode::not_found) {
    return asked_for ? out + R"(,"error":"not_found"})" : std::string();
  }
  std::string info;
  auto read = database ? append_database_info(info, **database) : std::unexpected(database.error());
  if (!read) {
    append_json_key(out, "error");
    append_json_string(out, error_word(read.error()));
  } else {
    append_json_key(out, "info");
    out += info;
  }
  return out + '}';
}

// Each name may open files, so this runs on a worker. The reply is streamed, so memory does not grow with the number of
// databases. `next` returns more names; none at the end.
Task<void> send_infos(partitioning::Engine& engine, std::move_only_function<std::vector<std::string>()> next,
                      bool asked_for, BodySink& sink) {
  std::string out = "[";
  bool first = true;
  while (true) {
    const auto names = next();
    if (names.empty()) break;
    for (const std::string& name : names) {
      auto read = [&] { return info_of(engine, name, asked_for); };
      const std::string info = co_await engine.workers().run_patiently(std::move(read));
      if (!info.empty()) {
        if (!std::exchange(first, false)) out += ',';
        out += info;
      }
      if (out.size() > 16 * 1024) {
        const bool alive = co_await sink.write(out);
        if (!alive) co_return;
        out.clear();
      }
    }
  }
  out += "]\n";
  co_await sink.write(out);
}

Task<Expected<Reply>> get_dbs_info(Call& call) {
  OCTAVO_CO_TRY_VOID(check_list_access(call));
  OCTAVO_CO_TRY(auto range, read_range(call.request));
  auto& engine = call.services.engine;
  Reply reply;
  reply.stream = [&engine, walk = std::make_unique<NameWalk>(engine, std::move(range))](BodySink& sink) mutable {
    auto next = [walk = std::move(walk)] {
      std::vector<std::string> names;
      while (names.empty() && !walk->done()) names = walk->next(names_inline);
      return names;
    };
    return send_infos(engine, std::move(next), false, sink);
  };
  co_return reply;
}

Task<Expected<Reply>> post_dbs_info(Call& call) {
  OCTAVO_CO_TRY_VOID(check_list_access(call));
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  const auto* keys = body.if_contains("keys");
  if (keys == nullptr) co_return fail(ErrorCode::bad_request, "`keys` member must exist.");
  if (!keys->is_array()) co_return fail(ErrorCode::bad_request, "`keys` member must be an array.");
  if (keys->get_array().size() > dbs_info_keys_max) co_return fail(ErrorCode::bad_request, "too_many_keys");
  std::vector<std::string> names;
  for (const auto& key : keys->get_array()) {
    if (!key.is_string()) co_return fail(ErrorCode::bad_request, "`keys` must be names of databases.");
    names.emplace_back(key.get_string());
  }
  Reply reply;
  reply.stream = [&engine = call.services.engine, names = std::move(names)](BodySink& sink) mutable {
    auto next = [names = std::move(names)]() mutable { return std::exchange(names, {}); };
    return send_infos(engine, std::move(next), true, sink);
  };
  co_return reply;
}

}  // namespace

void add_server_databases_routes(RouteList& routes) {
  routes.push_back({Method::get, "/_all_dbs", Access::anyone, get_all_dbs});
  routes.push_back({Method::get, "/_dbs_info", Access::anyone, get_dbs_info});
  routes.push_back({Method::post, "/_dbs_info", Access::anyone, post_dbs_info});
}

}  // namespace octavo::api::couch
