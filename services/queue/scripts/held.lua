-- Sum up what live transfers hold of scopes with caps, for a transfer that is about to start.
-- The caller puts watch.lua before this script.
-- KEYS  hashes of scopes, then of their owners, as exchange.lua keeps them. Returns for each scope: transfers, sum of the
--       weights of their keys (of one whose weight changes, the larger until all its transfers report it), files held, streams held.
local now_ms = store_time_ms()
local usage = {}
for i = 1, #KEYS / 2 do
  local transfers, weights, files, streams = 0, 0, 0, 0
  local weight_of, all = {}, redis.call('HGETALL', KEYS[i])
  for j = 1, #all, 2 do
    local entry = all[j + 1]
    local weight, held_files, held_streams, expires = string.match(entry, '^(%S+) %S+ %S+ (%S+) (%S+) (%S+)$')
    if not has_run_out(tonumber(expires), now_ms) then
      transfers = transfers + 1
      local owner = redis.call('HGET', KEYS[i + #KEYS / 2], all[j]) or all[j]
      local before = weight_of[owner] or 0
      weight_of[owner] = math.max(before, tonumber(weight))
      weights = weights + weight_of[owner] - before
      files = files + tonumber(held_files)
      streams = streams + tonumber(held_streams)
    end
  end
  usage[#usage + 1] = {transfers, tostring(weights), files, streams}
end
return usage
