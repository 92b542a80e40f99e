-- Point reads of random documents.
package.path = (os.getenv("OCTAVO_LOAD_SCRIPTS") or ".") .. "/?.lua;" .. package.path
local common = require("common")
setup, done = common.setup, common.done
function init() common.init() end

function request()
  return wrk.format("GET", "/" .. common.database .. "/" .. common.id(math.random(0, common.documents - 1)), common.headers)
end
