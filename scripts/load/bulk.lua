-- _bulk_docs of OCTAVO_LOAD_BATCH new documents.
package.path = (os.getenv("OCTAVO_LOAD_SCRIPTS") or ".") .. "/?.lua;" .. package.path
local common = require("common")
setup, done = common.setup, common.done
function init() common.init() end

local batch = tonumber(os.getenv("OCTAVO_LOAD_BATCH") or "100")
function request()
  local docs = {}
  for n = 1, batch do docs[n] = common.document(n, common.new_id()) end
  local body = '{"docs":[' .. table.concat(docs, ",") .. "]}"
  return wrk.format("POST", "/" .. common.database .. "/_bulk_docs", common.headers, body)
end
