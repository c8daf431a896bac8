
-- Go puts these variables in front of this script: run, threads and mark, the requests, and
-- the order in which they are sent. varied is false where every request is the same.

local started = 0
function setup(thread)
  thread:set("thread", started)
  started = started + 1
end

-- pieces formats a request once and cuts it where its number belongs.
local function pieces(request, id)
  local path = request.path:gsub("{id}", id)
  local text = wrk.format(request.method, path, request.headers, request.body)
  local out, from = {}, 1
  while true do
    local first, last = text:find(mark, from, true)
    if not first then
      out[#out + 1] = text:sub(from)
      return out
    end
    out[#out + 1] = text:sub(from, first - 1)
    from = last + 1
  end
end

local ready, turn, sent = {}, 1, 0

-- Threads start at different ids, so that they do not ask for the same row at the same time.
function init()
  for i, request in ipairs(requests) do
    local ids = #request.ids > 0 and request.ids or {""}
    ready[i] = {next = math.floor(#ids * thread / threads) + 1}
    for at, id in ipairs(ids) do ready[i][at] = pieces(request, id) end
  end
  if not varied then
    local text = ready[1][1][1]
    wrk.format = function() return text end
  end
end

-- Without a function named request, wrk asks for the bytes once and sends them from C.
if varied then
  function request()
    local kind = ready[order[turn]]
    turn = turn % #order + 1
    local text = kind[kind.next]
    kind.next = kind.next % #kind + 1
    if #text == 1 then return text[1] end
    sent = sent + 1
    return table.concat(text, string.format("%s%d%07d", run, thread, sent))
  end
end
