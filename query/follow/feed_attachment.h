#pragma once

#include <functional>
#include <memory>

#include "partitioning/database.h"

namespace octavo::query {

/// What a layer above keeps for an open database, beside its services, because it follows the feed. The services own it
/// and pass on what the database reports. Thread-safe.
class FeedAttachment {
 public:
  virtual ~FeedAttachment() = default;
  /// As partitioning::DatabaseExtension has them.
  virtual void committed() = 0;
  virtual void shut_down() = 0;
  /// How far the feed was read by what makes progress; the largest number: there is nothing.
  virtual storage::Sequence followed_through() const = 0;
};

using FeedAttachmentFactory = std::function<std::unique_ptr<FeedAttachment>(partitioning::Database&)>;

}  // namespace octavo::query
