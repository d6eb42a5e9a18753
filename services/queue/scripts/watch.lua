-- Since when, in ms by the clock of the store, it has been there for claims without a break. A mark that is gone says that
-- shares are gone with it; an old one, that nobody could reach the store and shares ran out whose transfers went on; one that
-- begins later than now, that the clock was set back.
local function watched_since(mark, now_ms, longest_gap_ms)
  local known = redis.call('HMGET', mark, 'since', 'last')
  local now = string.format('%.0f', now_ms)
  if not known[1] or tonumber(known[1]) > now_ms or now_ms - tonumber(known[2]) > longest_gap_ms then
    redis.call('HSET', mark, 'since', now, 'last', now)
    return now_ms
  end
  if tonumber(known[2]) < now_ms then redis.call('HSET', mark, 'last', now) end
  return tonumber(known[1])
end

local function store_time_ms()
  local clock = redis.call('TIME')
  return clock[1] * 1000 + math.floor(clock[2] / 1000)
end

-- No share is held for longer than `longest_silence_ms`: one that seems to be was claimed before the clock was set back.
local function has_run_out(expires_ms, now_ms)
  return expires_ms <= now_ms or expires_ms > now_ms + longest_silence_ms
end
