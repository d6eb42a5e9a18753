-- Take calls from buckets that fill at a steady rate up to a maximum. A bucket without an entry is full.
-- KEYS  a hash each. ARGV  for each: calls taken, calls a second, calls at most. Returns the level of each afterwards.
local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
local levels = {}
for i = 1, #KEYS do
  local taken, per_ms, brim = tonumber(ARGV[3 * i - 2]), ARGV[3 * i - 1] / 1000, tonumber(ARGV[3 * i])
  local stored = redis.call('HMGET', KEYS[i], 'level', 'at_ms')
  local level = brim
  if stored[1] then
    level = math.min(brim, stored[1] + per_ms * math.max(0, now_ms - stored[2]))
  end
  level = level - taken
  redis.call('HSET', KEYS[i], 'level', string.format('%.6f', level), 'at_ms', string.format('%.0f', now_ms))
  redis.call('PEXPIRE', KEYS[i], math.ceil((brim - level) / per_ms) + 1)
  levels[i] = string.format('%.6f', level)
end
return levels
