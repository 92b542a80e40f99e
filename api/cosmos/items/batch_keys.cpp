#include "api/cosmos/items/batch_keys.h"

#include <algorithm>
#include <string>
#include <utility>

#include "api/cosmos/feeds/former_keys.h"
#include "api/models/errors.h"

namespace octavo::api::cosmos {

namespace {

using partitioning::TypedKey;
using Leads = NamedKey::Leads;

/// An item that is to be made by its former key, or to get its id by it.
struct Made {
  std::size_t position = 0;  ///< of its operation
  Item item;
  bool creates = false;  ///< otherwise it may be there
};

Expected<Item> item_of(const OperationText& text, const Call& call, const OpenContainer& opened) {
  if (text.body.empty()) return fail(ErrorCode::bad_request, "The operation needs a 'resourceBody'.");
  return parse_item(text.body, *opened.definition, call.services.settings.cosmos_item_bytes_max, std::nullopt);
}

bool may_be_former_key(const OpenContainer& opened, std::string_view key_json) {
  const auto& before = *opened.former->container;
  const auto former = parse_key(key_json, before);
  return former && is_complete(*former, before);
}

Task<Expected<void>> take_turn(const OpenContainer& opened, std::string name, HeldTurns& turns) {
  OCTAVO_CO_TRY(auto turn, co_await opened.database->turns().take(std::move(name)));
  turns.push_back(std::move(turn));
  co_return Expected<void>{};
}

/// Finds out which key the operations of an atomic batch lead to.
class BatchKey {
 public:
  BatchKey(Call& call, const OpenContainer& opened, Batch& batch) : call_(call), opened_(opened), batch_(batch) {}

  Task<Expected<void>> find(HeldTurns& turns) {
    read_items();
    OCTAVO_CO_TRY_VOID(co_await take_turns(turns));
    for (const auto& made : made_) {
      const auto checked = co_await check_written_key(call_, opened_, made.item, made.creates);
      if (!checked) refuse(made.position, checked.error());
    }
    OCTAVO_CO_TRY_VOID(co_await find_items());
    if (!any_former_) co_return read_batch_key(batch_, *opened_.definition);
    if (any_present_ || keys_.size() > 1) {
      co_return refused_former_key(opened_, "The items of the batch have several partition keys now.");
    }
    for (const std::size_t position : missing_) {
      const bool is_made =
          std::ranges::any_of(made_, [&](const Made& made) { return made.item.id == batch_.texts[position]->id; });
      if (!is_made) refuse(position, {ErrorCode::not_found, {}, {}});
    }
    forget_own_keys();
    batch_.key = std::move(keys_.front());
    count_former_request(opened_);
    co_return Expected<void>{};
  }

 private:
  void refuse(std::size_t position, Error error) { batch_.texts[position] = std::unexpected(std::move(error)); }

  void note(Leads leads, TypedKey key) {
    any_present_ = any_present_ || leads == Leads::to_present;
    if (leads != Leads::to_former) return;
    any_former_ = true;
    if (std::ranges::find(keys_, key) == keys_.end()) keys_.push_back(std::move(key));
  }

  // Those that may be made, or get another id. What is wrong with others is said when the operations are read.
  void read_items() {
    for (std::size_t i = 0; i < batch_.texts.size(); ++i) {
      const auto& text = batch_.texts[i];
      if (!text || !text->has_item()) continue;
      auto item = item_of(*text, call_, opened_);
      if (!item || (!text->creates() && item->id == text->id)) continue;
      const auto leads = key_of_written(opened_, batch_.key_json, *item);
      if (!leads) {
        refuse(i, leads.error());
        continue;
      }
      if (text->creates()) note(*leads, item->key);
      const bool creates = text->kind != ItemOperation::Kind::upsert;
      if (*leads == Leads::to_former) made_.push_back({i, *std::move(item), creates});
    }
  }

  // All batches take them in the same order, so that none waits for one that waits for it.
  Task<Expected<void>> take_turns(HeldTurns& turns) {
    std::vector<std::string> names;
    for (const auto& made : made_) {
      OCTAVO_CO_TRY(auto name, turn_of_written(opened_, made.item));
      names.push_back(std::move(name));
    }
    std::ranges::sort(names);
    const auto repeated = std::ranges::unique(names);
    names.erase(repeated.begin(), repeated.end());
    for (auto& name : names) OCTAVO_CO_TRY_VOID(co_await take_turn(opened_, std::move(name), turns));
    co_return Expected<void>{};
  }

  // Those that must be there.
  Task<Expected<void>> find_items() {
    for (std::size_t i = 0; i < batch_.texts.size(); ++i) {
      const auto& text = batch_.texts[i];
      if (!text || text->creates() || !check_item_id(text->id)) continue;
      auto named = co_await find_by_key(call_, opened_, batch_.key_json, text->id);
      if (!named) {
        if (named.error().code != ErrorCode::bad_request) co_return std::unexpected(std::move(named).error());
        refuse(i, std::move(named).error());
      } else if (named->leads == Leads::nowhere) {
        missing_.push_back(i);
      } else {
        note(named->leads, std::move(named->key));
      }
    }
    co_return Expected<void>{};
  }

  // Operations may name the key of the batch again, which is the former one.
  void forget_own_keys() {
    const auto& before = *opened_.former->container;
    const auto former = parse_key(batch_.key_json, before);
    for (auto& text : batch_.texts) {
      if (!text || !text->partition_key) continue;
      const auto own = parse_key(*text->partition_key, before);
      if (own && former && *own == *former) text->partition_key.reset();
    }
  }

  Call& call_;
  const OpenContainer& opened_;
  Batch& batch_;
  std::vector<Made> made_;
  std::vector<std::size_t> missing_;  ///< positions of operations on items that are not there
  std::vector<TypedKey> keys_;        ///< present ones of the items that are named by the former one
  bool any_former_ = false;
  bool any_present_ = false;
};

}  // namespace

Task<Expected<void>> find_batch_key(Call& call, const OpenContainer& opened, Batch& batch, HeldTurns& turns) {
  BatchKey key(call, opened, batch);
  co_return co_await key.find(turns);
}

bool may_be_former(const OpenContainer& opened, const Batch& batch) {
  for (std::size_t i = 0; i < batch.texts.size(); ++i) {
    const auto& text = batch.texts[i];
    if (!text || !text->partition_key) continue;
    const auto& operation = batch.operations[i];
    if (operation.refused) return true;
    const auto& named = operation.gives_other_id() ? operation.former_document_id : operation.document_id;
    if (!text->creates() && !is_there(*opened.database, named)) return true;
  }
  return false;
}

Task<Expected<ItemOperation>> find_operation(Call& call, const OpenContainer& opened, const Batch& batch,
                                             const Expected<OperationText>& text, HeldTurns& turns) {
  const auto refused = [&](Error error) {
    ItemOperation operation;
    if (text) operation.kind = text->kind;
    operation.refused = std::move(error);
    return operation;
  };
  NamedKey named;
  if (text && text->partition_key && !text->creates() && check_item_id(text->id)) {
    auto found = co_await find_by_key(call, opened, *text->partition_key, text->id);
    if (!found) co_return refused(std::move(found).error());
    // The range that the request names is that of its former key, which need not be a present one at all.
    if (found->leads == Leads::nowhere && may_be_former_key(opened, *text->partition_key)) {
      co_return refused({ErrorCode::not_found, {}, {}});
    }
    named = *std::move(found);
  }
  const bool may_make = text && text->has_item() && (text->creates() || named.leads == Leads::to_former);
  if (may_make && text->partition_key) {
    const auto item = item_of(*text, call, opened);
    if (item && (text->creates() || item->id != text->id)) {
      const auto leads = key_of_written(opened, *text->partition_key, *item);
      if (!leads) co_return refused(leads.error());
      if (text->creates()) named = {*leads, item->key};
      if (*leads == Leads::to_former) {
        const bool creates = text->kind != ItemOperation::Kind::upsert;
        auto turn = co_await take_written_key(call, opened, *item, creates);
        if (!turn) co_return refused(std::move(turn).error());
        turns.push_back(*std::move(turn));
      }
    }
  }
  const bool is_former = named.leads == Leads::to_former;
  if (is_former) count_former_request(opened);
  auto operation = read_operation(text, call, opened, is_former ? std::optional(named.key) : std::nullopt);
  if (!is_former && !operation.refused &&
      opened.database->locate_document(operation.document_id) != batch.partition_id) {
    operation.refused = not_of_range();
  }
  co_return operation;
}

}  // namespace octavo::api::cosmos
