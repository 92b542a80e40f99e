-- Shared by the wrk scripts: what the database holds, a generator of its own for each thread, and the report.
-- Settings come from the environment (see load-test.sh): OCTAVO_LOAD_DATABASE, OCTAVO_LOAD_DOCS.
local common = {}

common.database = os.getenv("OCTAVO_LOAD_DATABASE") or "load"
common.documents = tonumber(os.getenv("OCTAVO_LOAD_DOCS") or "100000")
common.per_partition = 100
common.partitions = math.max(1, math.floor(common.documents / common.per_partition))
common.headers = { ["Content-Type"] = "application/json", ["Accept"] = "application/json" }
local authorization = os.getenv("OCTAVO_LOAD_AUTHORIZATION")
if authorization and authorization ~= "" then common.headers["Authorization"] = authorization end

local text = "Slim colourful design, electronic appliance for home and kitchen, weighs up to five kilograms, with a " ..
  "function for liquids in millilitres and fluid ounces, a fifteen year guarantee and a bowl of stainless steel"

function common.partition(number) return string.format("c%07d", number) end

function common.id(number)
  return string.format("c%07d:d%03d", math.floor(number / common.per_partition), number % common.per_partition)
end

-- About 400 bytes. Of a partition's hundred documents, 25 have each of four kinds.
function common.document(number, id)
  local head = id and string.format('"_id":"%s",', id) or ""
  return string.format('{%s"type":"item","kind":"k%d","number":%d,"price":%d.99,"name":"Item number %d","active":%s,' ..
    '"tags":["red","green","blue"],"text":"%s"}', head, number % 4, number, number % 500, number,
    number % 3 == 0 and "true" or "false", text)
end

-- wrk runs each thread in an interpreter of its own, all seeded alike: number them, so that ids stay unique.
local threads = 0
function common.setup(thread)
  thread:set("thread_number", threads)
  threads = threads + 1
end

function common.init()
  math.randomseed(os.time() * 1000 + (thread_number or 0) * 7919)
  common.run = string.format("%x%x%02x", os.time(), math.random(0, 0xffffff), thread_number or 0)
  common.count = 0
end

-- An id no other request uses, in a partition of its own.
function common.new_id()
  common.count = common.count + 1
  return string.format("w%08x:%s-%d", math.random(0, 0x7fffffff), common.run, common.count)
end

-- One line for load-test.sh: requests, errors, seconds, p50 and p99 in ms.
function common.done(summary, latency)
  local errors = summary.errors
  io.write(string.format("RESULT %d %d %.6f %.3f %.3f\n", summary.requests,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout, summary.duration / 1e6,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end

return common
