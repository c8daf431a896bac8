package load

// scriptSame is for requests that never change. Without a function named request
// wrk asks Lua for the bytes once and sends them from C.
const scriptSame = `
wrk.format = function() return calls[1] end
`

// scriptVaried begins each thread at its own place, so that together they send
// numbers only once and go round the ids and the order evenly.
const scriptVaried = `
local started = 0
function setup(thread)
  thread:set("index", started)
  started = started + 1
end

local number, turn, turns = 0, 0, {}
function init()
  number = first + index * block
  turn = math.floor(index * #order / threads)
  for call, list in pairs(ids) do turns[call] = math.floor(index * #list / threads) end
end

function request()
  local call = order[turn + 1]
  turn = (turn + 1) % #order
  local make = calls[call]
  if type(make) == "string" then return make end
  local list, at = ids[call], turns[call]
  if #list > 0 then turns[call] = (at + 1) % #list end
  number = number + 1
  return make(string.format("%.0f", number - 1), list[at + 1] or "")
end
`

// scriptDone reports every latency with its count, from where wrk has them. Its
// own latency(i) searches from the start each time, which takes minutes after a
// run with a few stalls. What stands there is checked before it is believed.
const scriptDone = `
function done(summary, latency)
  local ffi = require("ffi")
  ffi.cdef("typedef struct { uint64_t count, limit, min, max, at[1]; } latencies;")
  local all = ffi.cast("latencies **", latency)[0]
  local known = tonumber(all.min) == latency.min and tonumber(all.max) == latency.max and latency.max <= tonumber(all.limit)
  local out = assert(io.open(report, "w"))
  local e = summary.errors
  out:write(string.format('{"requests":%.0f,"micros":%.0f,"status":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d,"known":%s,"latencies":[',
    summary.requests, summary.duration, e.status, e.connect, e.read, e.write, e.timeout, tostring(known)))
  local comma = ""
  if known and summary.requests > 0 then
    for value = latency.min, latency.max do
      local count = tonumber(all.at[value])
      if count > 0 then
        out:write(comma, string.format("[%.0f,%.0f]", value, count))
        comma = ","
      end
    end
  end
  out:write("]}")
  out:close()
end
`
