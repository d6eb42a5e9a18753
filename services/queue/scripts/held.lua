-- Sum up what live transfers hold of scopes with caps, for a transfer that is about to start.
-- The caller puts watch.lua before this script.
-- KEYS  hashes of scopes, as exchange.lua keeps them. Returns for each: transfers, sum of weights, files held, streams held.
local now_ms = store_time_ms()
local usage = {}
for i = 1, #KEYS do
  local transfers, weights, files, streams = 0, 0, 0, 0
  for _, entry in ipairs(redis.call('HVALS', KEYS[i])) do
    local weight, held_files, held_streams, expires = string.match(entry, '^(%S+) %S+ %S+ (%S+) (%S+) (%S+)$')
    if not has_run_out(tonumber(expires), now_ms) then
      transfers = transfers + 1
      weights = weights + tonumber(weight)
      files = files + tonumber(held_files)
      streams = streams + tonumber(held_streams)
    end
  end
  usage[#usage + 1] = {transfers, tostring(weights), files, streams}
end
return usage
