#include "partitioning/keys/document_target.h"

namespace octavo::partitioning {

DocumentTarget::DocumentTarget(const PartitionMap& map, std::string_view id, std::string_view partition_key,
                               storage::KeyScheme scheme)
    : id_(id), partition_key_(partition_key), scheme_(scheme), map_(&map) {
  if (map.size() == 1) {
    partition_id_ = map.partition_ids().front();
  } else {
    position_ = hash();
    hashed_ = true;
    partition_id_ = map.locate(position_);
  }
}

DocumentTarget DocumentTarget::of_document(const PartitionMap& map, std::string_view id, bool partitioned,
                                           storage::KeyScheme scheme) {
  return {map, id, partition_key_of(id, partitioned), scheme};
}

DocumentTarget DocumentTarget::of_logical_partition(const PartitionMap& map, std::string_view partition_key,
                                                    storage::KeyScheme scheme) {
  return {map, {}, partition_key, scheme};
}

// Documents without a partition key have the position of their id.
HashPosition DocumentTarget::hash() const {
  return partition_key_.empty() ? hash_position(id_, false) : hash_position_of_key(partition_key_, scheme_);
}

std::size_t DocumentTarget::locate(const PartitionMap& map) const {
  // A map never changes and lives as long as its database, so another map has another address.
  if (&map == map_) return partition_id_;
  if (map.size() == 1) return map.partition_ids().front();
  return map.locate(hashed_ ? position_ : hash());
}

DocumentTarget DocumentTarget::referring_to_id(std::string_view id) const {
  DocumentTarget copy = *this;
  copy.id_ = id;
  copy.partition_key_ = id.substr(0, partition_key_.size());  // a document's key is the beginning of its id
  return copy;
}

DocumentTarget DocumentTarget::referring_to_key(std::string_view partition_key) const {
  DocumentTarget copy = *this;
  copy.id_ = {};
  copy.partition_key_ = partition_key;
  return copy;
}

}  // namespace octavo::partitioning
