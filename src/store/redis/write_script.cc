#include "store/redis/write_script.h"

namespace activescale::store {

// The versions in `apply` are those that ParseRecord reads.
const std::string_view kWriteScript = R"lua(
local LAYOUT = '>BI8c8I8c60'
local NONE = string.rep('\0', 8)
local SAMPLE = 20
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now = math.floor(now_us / 1000)
local ttl = tonumber(ARGV[1])
local failure = nil

-- Whether a stored moment is to stay: it is later, and not of a clock that was set back.
local function later(old, new) return old > new and old <= now + 1000 end

local function merge(new, old, by_age)
  local out = {}
  for i = 0, 2 do
    local first, last = i * SAMPLE + 1, i * SAMPLE + SAMPLE
    local keep = new:sub(first, first + 7) == NONE
    if by_age and not keep then
      local old_at = struct.unpack('>I8', old, first)
      local new_at = struct.unpack('>I8', new, first)
      keep = later(old_at, new_at)
    end
    out[i + 1] = (keep and old or new):sub(first, last)
  end
  return table.concat(out)
end

local function apply(key, operation)
  local flags, epoch, owner, beat, samples = struct.unpack(LAYOUT, operation)
  local claim, release = flags % 2 == 1, flags >= 2
  -- A guess of the moment it opened may be a little ahead; a stored epoch ahead of now means a clock
  -- that was set back.
  if claim and epoch > now_us then epoch = now_us end
  local old = redis.pcall('GET', key)
  if type(old) == 'table' then
    if old.err and not old.err:find('WRONGTYPE', 1, true) then failure = old end
    return -1
  end
  if old then
    if #old < 88 or old:sub(1, 2) ~= 'AS' then return -1 end
    local version = old:byte(3)
    if version < 1 or version > 2 then return -2 end
    local old_flags, old_epoch, old_owner, old_beat, old_samples = struct.unpack(LAYOUT, old, 4)
    local released = old_flags % 2 == 1
    if released then
      local released_at = struct.unpack('>I8', old_owner)
      if epoch < old_epoch and beat ~= 0 and beat < released_at then return 0 end
    elseif owner == old_owner then
      epoch = old_epoch
    elseif claim and
           (epoch < old_epoch or (epoch == old_epoch and owner <= old_owner)) then
      if old_epoch <= now_us then return 0 end
      epoch = old_epoch + 1
    elseif not claim and epoch <= old_epoch then
      return 0
    end
    local by_age = epoch <= old_epoch
    samples = merge(samples, old_samples, by_age)
    if beat == 0 or (by_age and later(old_beat, beat)) then beat = old_beat end
    release = release or (released and epoch == old_epoch)
  end
  if release then owner = struct.pack('>I8', now) end
  local life = beat + ttl + 1000 - now
  if claim or life > ttl + 1000 then life = ttl + 1000 end
  if life < 1 then return epoch end
  local record = 'AS\1' .. struct.pack(LAYOUT, release and 1 or 0, epoch, owner, beat, samples)
  local set = redis.pcall('SET', key, record, 'PX', life)
  if set.err then failure = set end
  return epoch
end

local out = {}
for i = 1, #KEYS do
  out[i] = apply(KEYS[i], ARGV[i + 1])
  if failure then return failure end
end
return out
)lua";

}  // namespace activescale::store
