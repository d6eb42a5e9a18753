-- One heartbeat in one step: remember the state, hand the tick to the journal, claim the transfer's share.
--
-- The caller puts watch.lua and the local `turn_ms` before this script. For a while after the store was lost or unreachable, other transfers may
-- not have come back. A transfer is then granted no more than it uses, and a transfer that has not started gets nothing.
-- The share of a silent transfer does not go to others.
--
-- A cap is shared by keys first, then by the transfers of a key: many transfers of one key take no more than its part from
-- other keys. Next to other keys a transfer that moves nothing is granted half as much with each heartbeat.
-- Where there are more of them than the cap has units, a unit that moves bytes stays where it is, as no transfer can do
-- with less than one once it runs; free and idle units go by lot, drawn again every `turn_ms`.
--
-- KEYS  1 session, 2 journal, 3 mark of the watch, 4 sessions of the owner, 5 sessions of the tenant, both
--       transfer -> ms at which it is forgotten,
--       6… one hash a scope with caps: transfer -> "weight files streams held_files held_streams expires_ms",
--       where half a millisecond more says that it was idle: scripts of other versions read the same six numbers
--       then one a scope: transfer -> owner
-- ARGV  1 known, 2 sequence, 3 state, 4 enquiry, 5 heartbeat, 6 decision, 7 session ttl s, 8 journal bytes,
--       9 tenant, 10 transfer, 11 weight, 12 wanted files, 13 wanted streams, 14 used files, 15 used streams,
--       16 silent after ms, 17 owner, 18 longest gap of the watch ms,
--       19 for how long others may come back ms, 20 the record of its start, '' once that is stored,
--       21 what it belongs to, '' where nothing is traced, 22 '1' where the database says whose it is,
--       23 most sessions of the owner, 24 of the tenant, 25 '1' where it moved nothing since its heartbeat before,
--       26… cap of files and cap of streams of each scope, '' for none
-- Returns one of: {'ended'}; {'anothers', owner}; {'full', 'key' or 'tenant', ms until one is forgotten};
-- {'overtaken', state, journalled, files, streams} with the share of the stored session;
-- {'stored', '', journalled, files, streams}. files and streams are '' where no cap is set.

local session, journal = KEYS[1], KEYS[2]
local stored = redis.call('HMGET', session, 'sequence', 'journalled', 'ended', 'owner', 'files', 'streams', 'before_files',
  'before_streams')
if stored[3] then return {'ended'} end
if stored[4] and stored[4] ~= ARGV[17] then
  if ARGV[22] ~= '1' then return {'anothers', stored[4]} end
  redis.call('DEL', session) -- another key started it while the database was unreachable
  stored = {false, false, false, false, false, false}
end
local journalled = stored[2] or '-1'
if stored[1] and tonumber(stored[1]) > tonumber(ARGV[1]) then
  local stands = redis.call('HMGET', session, 'state', 'files', 'streams')
  return {'overtaken', stands[1], journalled, stands[2] or '', stands[3] or ''}
end

local transfer = ARGV[10]
local now_ms = store_time_ms()

if not stored[1] then -- a new session: remove expired sessions before counting
  for i, whose in ipairs({'key', 'tenant'}) do
    local live, most = KEYS[3 + i], tonumber(ARGV[22 + i])
    redis.call('ZREMRANGEBYSCORE', live, '-inf', string.format('%.0f', now_ms))
    if redis.call('ZCARD', live) >= most then
      local first = redis.call('ZRANGE', live, 0, 0, 'WITHSCORES')
      return {'full', whose, string.format('%.0f', first[2] and first[2] - now_ms or 0)}
    end
  end
end

local scope_count = (#KEYS - 5) / 2
local others_may_come_back =
  #KEYS > 5 and now_ms - watched_since(KEYS[3], now_ms, tonumber(ARGV[18])) < tonumber(ARGV[19])

local function members(scope, owners)
  local found, all = {}, redis.call('HGETALL', scope)
  for i = 1, #all, 2 do
    local weight, files, streams, held_files, held_streams, expires =
      string.match(all[i + 1], '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$')
    if all[i] ~= transfer then
      if has_run_out(tonumber(expires), now_ms) and not others_may_come_back then
        redis.call('HDEL', scope, all[i])
        redis.call('HDEL', owners, all[i])
      else
        found[#found + 1] = {
          id = all[i], owner = redis.call('HGET', owners, all[i]) or all[i], weight = tonumber(weight),
          wants = {tonumber(files), tonumber(streams)}, holds = {tonumber(held_files), tonumber(held_streams)},
          moves = tonumber(expires) % 1 == 0,
        }
      end
    end
  end
  return found
end

-- Max-min fair shares by id: who wants less than its weighted part leaves the rest to the others. Whole numbers;
-- what rounding leaves goes to those with nothing first: who moves bytes with one keeps it, the others have it by lot in
-- each turn. Then it goes in the order of their names, so that a share that is in use does not change with each turn.
local turn = string.format('%.0f', math.floor(now_ms / turn_ms))
local lots = {}
local function lot(id)
  lots[id] = lots[id] or redis.sha1hex(turn .. ' ' .. id)
  return lots[id]
end

local function fair(cap, all, what)
  local order = {}
  for i = 1, #all do order[i] = all[i] end
  table.sort(order, function(a, b)
    local x, y = a.wants[what] / a.weight, b.wants[what] / b.weight
    if x == y then return a.id < b.id end
    return x < y
  end)
  local left, weights = cap, 0
  for _, each in ipairs(order) do weights = weights + each.weight end
  local given, rest = {}, cap
  for _, each in ipairs(order) do
    local part = math.min(each.wants[what], left * each.weight / weights)
    left, weights = left - part, weights - each.weight
    given[each.id] = math.floor(part + 1e-9)
    rest = rest - given[each.id]
  end
  table.sort(order, function(a, b)
    local x, y = math.min(given[a.id], 1), math.min(given[b.id], 1)
    if x ~= y then return x < y end
    if x == 0 and a.keeps[what] ~= b.keeps[what] then return a.keeps[what] end
    if x == 0 and lot(a.id) ~= lot(b.id) then return lot(a.id) < lot(b.id) end
    return a.id < b.id
  end)
  for _, each in ipairs(order) do
    if rest < 1 then break end
    if given[each.id] < each.wants[what] then
      given[each.id] = given[each.id] + 1
      rest = rest - 1
    end
  end
  return given
end

-- The part of `mine`: keys share the cap by their weights, then the transfers of its key share what that gets.
local function fair_part(cap, all, mine, what)
  local keys, by_owner, siblings = {}, {}, {}
  for _, each in ipairs(all) do
    local key = by_owner[each.owner]
    if not key then
      key = {id = each.owner, weight = each.weight, wants = {0, 0}, keeps = {false, false}}
      by_owner[each.owner] = key
      keys[#keys + 1] = key
    end
    key.weight = math.max(key.weight, each.weight)
    key.wants[what] = key.wants[what] + each.wants[what]
    each.keeps = {each.moves and each.holds[1] > 0, each.moves and each.holds[2] > 0}
    key.keeps[what] = key.keeps[what] or each.keeps[what]
    if each.owner == mine.owner then siblings[#siblings + 1] = each end
  end
  return fair(fair(cap, keys, what)[mine.owner], siblings, what)[mine.id]
end

-- What a transfer was granted by its heartbeat before bounds what it can be using now. Without a session nothing was
-- granted, unless the store was lost; without a cap everything was. A heartbeat may come here several times.
local before_field = stored[1] == ARGV[2] and 6 or 4
local function granted_before(what) return tonumber(stored[before_field + what] or '') end
local function used(what)
  local reported, before = tonumber(ARGV[13 + what]), granted_before(what)
  if before then return math.min(reported, before) end
  if stored[1] or others_may_come_back then return reported end
  return 0
end

local mine = {
  id = transfer, owner = ARGV[17], weight = tonumber(ARGV[11]), wants = {tonumber(ARGV[12]), tonumber(ARGV[13])},
  holds = {used(1), used(2)}, moves = ARGV[25] ~= '1',
}
local granted = {false, false}
for i = 6, 5 + scope_count do
  local others = members(KEYS[i], KEYS[i + scope_count])
  local is_contested = false
  for _, each in ipairs(others) do is_contested = is_contested or each.owner ~= mine.owner end
  for what = 1, 2 do
    local cap = ARGV[25 + 2 * (i - 6) + what]
    if cap ~= '' then
      local before = granted_before(what)
      if ARGV[25] == '1' and is_contested and before then
        mine.wants[what] = math.min(mine.wants[what], math.max(1, math.floor(before / 2)))
      end
      local free = tonumber(cap)
      local all = {mine}
      for _, each in ipairs(others) do
        free = free - each.holds[what]
        all[#all + 1] = each
      end
      local part = math.max(0, math.min(free, fair_part(tonumber(cap), all, mine, what)))
      if others_may_come_back then part = math.min(part, used(what)) end
      if not granted[what] or part < granted[what] then granted[what] = part end
    end
  end
end

-- A transfer holds what it was granted. What it uses beyond that stays held until a heartbeat reports that it is free.
local function held(what) return math.max(granted[what] or 0, used(what)) end
local entry = table.concat({
  ARGV[11], mine.wants[1], mine.wants[2], held(1), held(2),
  string.format('%.0f', now_ms + tonumber(ARGV[16])) .. (ARGV[25] == '1' and '.5' or ''),
}, ' ')
local scopes = {}
for i = 6, 5 + scope_count do
  redis.call('HSET', KEYS[i], transfer, entry)
  redis.call('EXPIRE', KEYS[i], ARGV[7])
  redis.call('HSET', KEYS[i + scope_count], transfer, ARGV[17])
  redis.call('EXPIRE', KEYS[i + scope_count], ARGV[7])
  scopes[#scopes + 1] = KEYS[i]
  scopes[#scopes + 1] = KEYS[i + scope_count]
end

local forgotten_ms = string.format('%.0f', now_ms + 1000 * ARGV[7])
for i = 4, 5 do
  redis.call('ZADD', KEYS[i], forgotten_ms, transfer)
  redis.call('EXPIRE', KEYS[i], ARGV[7])
end

redis.call('HSET', session, 'owner', ARGV[17], 'sequence', ARGV[2], 'state', ARGV[3], 'enquiry', ARGV[4], 'scopes', table.concat(scopes, '\n'),
  'files', granted[1] or '', 'streams', granted[2] or '',
  'before_files', granted_before(1) or '', 'before_streams', granted_before(2) or '')
if not stored[2] then -- the database may not have the transfer yet: until then, requests for it are answered from these fields
  local heard_ms = string.format('%.0f', now_ms)
  redis.call('HSETNX', session, 'began_ms', heard_ms)
  redis.call('HSET', session, 'heartbeat', ARGV[5], 'heard_ms', heard_ms)
  if ARGV[20] ~= '' then redis.call('HSETNX', session, 'begun', ARGV[20]) end -- only the first heartbeat sets it
end
redis.call('EXPIRE', session, ARGV[7])
local fields = {'tenant', ARGV[9], 'transfer', transfer, 'owner', ARGV[17], 'sequence', ARGV[2], 'heartbeat', ARGV[5],
  'decision', ARGV[6], 'enquiry', ARGV[4]}
if ARGV[20] ~= '' then
  fields[#fields + 1] = 'begun'
  fields[#fields + 1] = ARGV[20]
end
if ARGV[21] ~= '' then
  fields[#fields + 1] = 'trace'
  fields[#fields + 1] = ARGV[21]
end
redis.call('XADD', journal, '*', unpack(fields))
local length = redis.call('XLEN', journal)
if length % 100 == 0 then -- now and then, so that a heartbeat costs no more
  local bytes = redis.call('MEMORY', 'USAGE', journal)
  if bytes > tonumber(ARGV[8]) then
    redis.call('XTRIM', journal, 'MAXLEN', math.floor(length * tonumber(ARGV[8]) / bytes))
  end
end
return {'stored', '', journalled, granted[1] or '', granted[2] or ''}
