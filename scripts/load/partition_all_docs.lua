-- The 100 documents of a random partition.
package.path = (os.getenv("OCTAVO_LOAD_SCRIPTS") or ".") .. "/?.lua;" .. package.path
local common = require("common")
setup, done = common.setup, common.done
function init() common.init() end

function request()
  local partition = common.partition(math.random(0, common.partitions - 1))
  local path = "/" .. common.database .. "/_partition/" .. partition .. "/_all_docs?include_docs=true"
  return wrk.format("GET", path, common.headers)
end
