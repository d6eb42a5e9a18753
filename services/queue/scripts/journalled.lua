-- Record in a session up to which heartbeat all are stored. A missing session is not created, and the number never falls.
-- KEYS 1 session; ARGV 1 sequence
local stored = redis.call('HMGET', KEYS[1], 'sequence', 'journalled')
if stored[1] and tonumber(stored[2] or '-1') < tonumber(ARGV[1]) then
  redis.call('HSET', KEYS[1], 'journalled', ARGV[1])
end
return 1
