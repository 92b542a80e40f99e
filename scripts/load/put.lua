-- Durable writes of single new documents.
package.path = (os.getenv("OCTAVO_LOAD_SCRIPTS") or ".") .. "/?.lua;" .. package.path
local common = require("common")
setup, done = common.setup, common.done
function init() common.init() end

function request()
  return wrk.format("PUT", "/" .. common.database .. "/" .. common.new_id(), common.headers, common.document(1))
end
