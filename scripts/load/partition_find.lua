-- _find of 25 documents in a random partition, by a local index.
package.path = (os.getenv("OCTAVO_LOAD_SCRIPTS") or ".") .. "/?.lua;" .. package.path
local common = require("common")
setup, done = common.setup, common.done
function init() common.init() end

function request()
  local partition = common.partition(math.random(0, common.partitions - 1))
  return wrk.format("POST", "/" .. common.database .. "/_partition/" .. partition .. "/_find", common.headers,
    '{"selector":{"kind":"k1"},"limit":25}')
end
