-- End a transfer: release its shares. While the session is marked as ended, no heartbeat revives it.
-- KEYS 1 session, 2 sessions of the tenant; ARGV 1 transfer, 2 s for which the end is remembered
local scopes = redis.call('HGET', KEYS[1], 'scopes')
if scopes then
  for scope in string.gmatch(scopes, '[^\n]+') do redis.call('HDEL', scope, ARGV[1]) end
end
redis.call('ZREM', KEYS[2], ARGV[1])
local owner = redis.call('HGET', KEYS[1], 'owner')
if owner then redis.call('ZREM', KEYS[2] .. ':' .. owner, ARGV[1]) end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'ended', '1')
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
