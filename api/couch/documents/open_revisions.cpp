#include "api/couch/documents/open_revisions.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "api/couch/call/query_parameters.h"
#include "api/couch/call/sliced_reply.h"
#include "api/couch/server/server.h"
#include "api/http/worker_bodies.h"
#include "partitioning/throughput/request_charge.h"

namespace octavo::api::couch {

namespace {

using partitioning::DocumentTarget;
using storage::Revision;
using storage::RevisionTree;

// One entry of the reply: a leaf, a replaced revision that is kept, or a revision that is missing.
struct OpenedRevision {
  std::size_t mention = 0;  // index among the requested revisions
  Revision revision;
  std::optional<std::size_t> node;  // index in the tree; absent if missing
};

// `kept`: the former winners whose bodies are kept, in ascending order.
std::vector<OpenedRevision> opened_revisions(const RevisionTree& tree, const OpenRevisionsQuery& query,
                                             const std::vector<Revision>& kept) {
  const auto nodes = tree.nodes();
  std::vector<OpenedRevision> opened;
  const auto open = [&](std::size_t mention, const RevisionTree::Node* leaf) {
    opened.push_back({mention, leaf->revision, static_cast<std::size_t>(leaf - nodes.data())});
  };
  const auto leaves = tree.leaves();
  if (!query.revisions) {
    for (const auto* leaf : leaves) open(0, leaf);
    return opened;
  }

  std::map<Revision, std::size_t> mentions;  // requested revision → order of its first mention
  for (const auto& revision : *query.revisions) mentions.emplace(revision, mentions.size());
  // For each node: the first mention that it answers, either itself or, with `latest`, as a descendant.
  constexpr auto unasked = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> answered(nodes.size(), unasked);
  std::vector<bool> known(mentions.size(), false);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto mention = mentions.find(nodes[i].revision);
    if (mention != mentions.end() && (query.latest || nodes[i].leaf)) {
      answered[i] = mention->second;
      known[mention->second] = true;
    } else if (mention != mentions.end() && std::ranges::binary_search(kept, nodes[i].revision)) {
      known[mention->second] = true;
      open(mention->second, &nodes[i]);
    }
    // Parents precede their children in `nodes`.
    if (query.latest && nodes[i].parent >= 0) {
      answered[i] = std::min(answered[i], answered[static_cast<std::size_t>(nodes[i].parent)]);
    }
  }
  for (const auto* leaf : leaves) {
    const auto mention = answered[static_cast<std::size_t>(leaf - nodes.data())];
    if (mention != unasked) open(mention, leaf);
  }
  for (const auto& [revision, mention] : mentions) {
    if (!known[mention]) opened.push_back({mention, revision, std::nullopt});
  }
  std::ranges::stable_sort(opened, {}, &OpenedRevision::mention);
  return opened;
}

class OpenRevisionsProducer final : public SliceProducer {
 public:
  /// `boundary`: that of multipart/mixed; empty for JSON.
  OpenRevisionsProducer(std::shared_ptr<partitioning::Database> database, const DocumentTarget& target,
                        OpenRevisionsQuery query, std::string boundary, bool may_take_long)
      : database_(std::move(database)),
        id_(target.id()),
        target_(target.referring_to_id(id_)),
        query_(std::move(query)),
        boundary_(std::move(boundary)),
        may_take_long_(may_take_long) {}

  bool may_take_long() const override { return may_take_long_; }
  double charge(std::uint64_t bytes) const override { return partitioning::charge_of_read(bytes); }

  Expected<bool> produce(std::string& out, partitioning::ScanBudget budget) override {
    OCTAVO_TRY(const auto snapshot, database_->snapshot(target_));
    OCTAVO_TRY(const auto document, snapshot.find(id_));
    RevisionTree tree;
    if (document) {
      OCTAVO_TRY(tree, snapshot.revision_tree(*document));
    }
    if (!begun_) {
      out += is_json() ? "[" : "--";
      out += boundary_;
    }
    // An edit since the last piece may have replaced leaves.
    const storage::Sequence sequence = document ? document->sequence : 0;
    if (!std::exchange(begun_, true) || sequence != sequence_) {
      std::vector<Revision> kept;
      if (document && asks_for_replaced(tree)) {
        OCTAVO_TRY(kept, snapshot.replaced_revisions(*document));
      }
      opened_ = opened_revisions(tree, query_, kept);
      std::erase_if(opened_, [&](const OpenedRevision& opened) { return answered_.contains(opened.revision); });
      next_ = 0;
      sequence_ = sequence;
    }
    for (std::size_t rows = 0; next_ < opened_.size(); ++rows) {
      const bool tired = rows > 0 && budget.is_over_after(rows);
      if (tired || rows == budget.rows_max || out.size() >= partitioning::ScanBudget::output_bytes_max) return false;
      const auto& opened = opened_[next_];
      begin_entry(out, opened.node.has_value());
      if (opened.node) {
        OCTAVO_TRY_VOID(append_node(out, *document, snapshot, tree, tree.nodes()[*opened.node], query_.render));
      } else {
        append_revision(out, opened.revision);
      }
      end_entry(out, opened.node.has_value());
      answered_.insert(opened.revision);
      ++next_;
    }
    out += is_json() ? "]\n" : "--";
    return true;
  }

 private:
  bool is_json() const { return boundary_.empty(); }

  bool asks_for_replaced(const RevisionTree& tree) const {
    if (!query_.revisions || query_.latest) return false;
    return std::ranges::any_of(*query_.revisions, [&](const Revision& revision) {
      const auto* node = tree.find(revision);
      return node != nullptr && !node->leaf;
    });
  }

  void begin_entry(std::string& out, bool found) const {
    if (!is_json()) {
      out += found ? "\r\nContent-Type: application/json\r\n\r\n"
                   : "\r\nContent-Type: application/json; error=\"true\"\r\n\r\n";
    } else {
      if (!answered_.empty()) out += ',';
      if (found) out += "{\"ok\":";
    }
    if (!found) out += "{\"missing\":";
  }
  void end_entry(std::string& out, bool found) const {
    if (is_json() || !found) out += '}';
    if (!is_json()) out += "\r\n--" + boundary_;
  }

  std::shared_ptr<partitioning::Database> database_;
  const std::string id_;  // the reply is longer than the request
  const DocumentTarget target_;
  OpenRevisionsQuery query_;
  std::string boundary_;
  bool may_take_long_;
  std::vector<OpenedRevision> opened_;  // entries of the document at sequence_; those from next_ on are not sent yet
  std::size_t next_ = 0;
  storage::Sequence sequence_ = 0;
  std::set<Revision> answered_;
  bool begun_ = false;
};

// Whether a worker must produce the reply: each leaf may be large, and only the tree tells how many there are.
Expected<bool> opening_takes_long(Call& call, const DocumentTarget& target, const OpenRevisionsQuery& query) {
  OCTAVO_TRY(const auto snapshot, call.database->snapshot(target));
  OCTAVO_TRY(const auto document, snapshot.find_record(target.id()));
  if (!document && !query.revisions) {
    call.charge(target, partitioning::charge_of_miss());
    return fail(ErrorCode::not_found, "");
  }
  return document && (document->has_conflicts || document->body.size() >= worker_body_bytes);
}

}  // namespace

Task<Expected<Reply>> open_revisions_reply(Call& call, DocumentTarget target, OpenRevisionsQuery query) {
  const auto& request = call.request;
  OCTAVO_CO_TRY(const auto takes_long, opening_takes_long(call, target, query));
  const bool multipart = accepts_by_name(request, "multipart/mixed");
  std::string boundary;
  if (multipart) boundary = new_uuid();
  std::optional<DocumentTarget> scope;
  if (!target.partition_key().empty()) scope = target;

  auto producer =
      std::make_unique<OpenRevisionsProducer>(call.database, target, std::move(query), boundary, takes_long);
  auto reply = co_await sliced_reply(call, std::move(producer), scope);
  if (reply && multipart) {
    reply->content_type = {};
    reply->headers.emplace_back("Content-Type", "multipart/mixed; boundary=\"" + boundary + "\"");
  }
  co_return reply;
}

}  // namespace octavo::api::couch
