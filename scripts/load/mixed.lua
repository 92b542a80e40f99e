-- A shop at work: 80 % point reads, 10 % partition queries, 10 % writes.
package.path = (os.getenv("OCTAVO_LOAD_SCRIPTS") or ".") .. "/?.lua;" .. package.path
local common = require("common")
setup, done = common.setup, common.done
function init() common.init() end

function request()
  local dice = math.random(100)
  if dice <= 80 then
    local id = common.id(math.random(0, common.documents - 1))
    return wrk.format("GET", "/" .. common.database .. "/" .. id, common.headers)
  end
  if dice <= 90 then
    local partition = common.partition(math.random(0, common.partitions - 1))
    return wrk.format("POST", "/" .. common.database .. "/_partition/" .. partition .. "/_find", common.headers,
      '{"selector":{"kind":"k1"},"limit":25}')
  end
  return wrk.format("PUT", "/" .. common.database .. "/" .. common.new_id(), common.headers, common.document(1))
end
