#include "storage/lmdb/fault_injector.h"

#include <lmdb.h>

namespace octavo::storage::fault_code {

const int must_grow = MDB_MAP_FULL;
const int too_many_readers = MDB_READERS_FULL;
const int must_reopen = MDB_PANIC;

}  // namespace octavo::storage::fault_code
