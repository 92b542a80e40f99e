#pragma once

#include <cstddef>
#include <string_view>

#include "partitioning/keys/partition_key.h"
#include "partitioning/keys/partition_map.h"

namespace octavo::partitioning {

/// A document, or a whole logical partition, and the physical partition that stores it. A request makes one when it
/// knows the id (Database::target_of) and passes it to every call that concerns the document, so that the key is hashed
/// once, whatever the request does.
///
/// A split may move the document after the target was made. locate() notices that, and finds it again.
///
/// A value type. It refers to the text that it was made from, which must outlive it, and to maps of its database.
class DocumentTarget {
 public:
  /// `map`: a map of the document's database; all maps given to one target belong to the same database.
  static DocumentTarget of_document(const PartitionMap& map, std::string_view id, bool partitioned,
                                    storage::KeyScheme scheme);
  static DocumentTarget of_logical_partition(const PartitionMap& map, std::string_view partition_key,
                                             storage::KeyScheme scheme);

  /// Empty: the target is a logical partition.
  std::string_view id() const { return id_; }
  /// What storage::DocumentWrite::partition_key is for its document.
  std::string_view partition_key() const { return partition_key_; }

  /// The partition id in `map`. Hashes only if the key was not hashed yet, which means that the database had a single
  /// physical partition until now. Throws std::bad_alloc.
  std::size_t locate(const PartitionMap& map) const;

  /// The same document; refers to `id`, a copy of its id. The text that this target refers to need not exist any more.
  DocumentTarget referring_to_id(std::string_view id) const;
  /// The logical partition of the document, or this one; refers to `partition_key`, a copy of the key. The text
  /// that this target refers to need not exist any more.
  DocumentTarget referring_to_key(std::string_view partition_key) const;

 private:
  DocumentTarget(const PartitionMap& map, std::string_view id, std::string_view partition_key,
                 storage::KeyScheme scheme);

  HashPosition hash() const;

  std::string_view id_;
  std::string_view partition_key_;
  storage::KeyScheme scheme_;
  bool hashed_ = false;  ///< position_ is known
  HashPosition position_ = 0;
  const PartitionMap* map_;  ///< the map that partition_id_ was found in
  std::size_t partition_id_ = 0;
};

}  // namespace octavo::partitioning
