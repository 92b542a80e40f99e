#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "query/follow/feed_follower.h"
#include "query/follow/feed_indexes.h"

namespace octavo::query {

/// One index of FeedIndexes and its follower. Private to FeedIndexes.
struct FeedIndexes::Follower final : FeedFollower {
  Follower(FeedIndexes& its_owner, const FeedIndexKind& its_kind, const FeedIndexDefinition& its_definition,
           std::shared_ptr<FeedIndex> its_index, std::shared_ptr<std::atomic<bool>> its_stopping)
      : FeedFollower(its_owner.context_, *its_index, options_of(its_kind, its_definition), std::move(its_stopping)),
        owner(its_owner),
        kind(its_kind),
        definition(its_definition),
        index(std::move(its_index)) {}

  FeedIndexes& owner;
  const FeedIndexKind& kind;
  const FeedIndexDefinition definition;
  const std::shared_ptr<FeedIndex> index;
  /// It had the whole feed once, and the former index that served queries in its place is gone.
  std::atomic<bool> built{false};
  /// It had the whole feed once: a query has seen it.
  std::atomic<bool> seen_whole{false};
  std::string stored_definition;  ///< content of the file beside the index; guarded by load_mutex_

 private:
  static Options options_of(const FeedIndexKind& its_kind, const FeedIndexDefinition& its_definition) {
    Options options;
    options.subject = its_definition.design_document + " " + its_definition.name;
    options.task.type = its_kind.task_type;
    options.task.design_document = its_definition.design_document;
    options.task.index = its_definition.name;
    return options;
  }
  void caught_up() override { owner.caught_up(*this); }
};

struct FeedIndexes::Wanted {
  const FeedIndexKind* kind;
  FeedIndexDefinition definition;
};

}  // namespace octavo::query
