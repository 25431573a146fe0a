-- The script environment as far as it is clearer in Lua: logging, protected calls, package paths.
-- It runs once per state, before the site's script, and keeps the library functions it needs as
-- locals: what the script does to the globals later cannot break it.
local emit, levels, convert, array_metatable, constants, multiarch = ...

local error, getmetatable, next, pcall, rawget, select, setmetatable, tonumber, tostring, type, xpcall =
  error, getmetatable, next, pcall, rawget, select, setmetatable, tonumber, tostring, type, xpcall
local format, gmatch, sub = string.format, string.gmatch, string.sub
local concat, sort, floor = table.concat, table.sort, math.floor
local getinfo, traceback = debug.getinfo, debug.traceback
local unpack = table.unpack or unpack
local plain_51 = _VERSION == "Lua 5.1" and not jit

-- More results than any caller reads; a script that returns a million does not fill the stack.
local MAX_RESULTS = 16
-- How much of a table that was raised as an error is shown.
local MAX_FIELDS = 8

-- tostring() that cannot fail.
local function show(value)
  local ok, text = pcall(tostring, value)
  -- Before 5.3 __tostring can give anything.
  if ok and type(text) == "string" then return text end
  return "(a " .. type(value) .. " whose __tostring fails)"
end

-- The function of the script that is being called.
local running

-- Raises an error with the place in the script that called us. error(message, 2) would give none
-- behind a tail call, `return slurm.from_json(text)`: then it is the next place up, or where the
-- running function begins.
local function raise(message)
  local level = 3
  local info = getinfo(level, "Sl")
  while info do
    if info.currentline > 0 and info.short_src ~= "[slurm-lua]" then
      error(info.short_src .. ":" .. info.currentline .. ": " .. message, 0)
    end
    level = level + 1
    info = getinfo(level, "Sl")
  end
  info = running and getinfo(running, "S")
  if info and info.linedefined > 0 then
    message = info.short_src .. ":" .. info.linedefined .. ": " .. message
  end
  error(message, 0)
end

-- Logging. A log call never raises: a script must not fail because of what it wanted to say.

local function logger(level)
  return function(fmt, ...)
    local ok, text
    if plain_51 then
      -- There %s takes strings and numbers only.
      local n, arguments = select("#", ...), { ... }
      for i = 1, n do
        local kind = type(arguments[i])
        if kind ~= "string" and kind ~= "number" then arguments[i] = show(arguments[i]) end
      end
      ok, text = pcall(format, fmt, unpack(arguments, 1, n))
    else
      ok, text = pcall(format, fmt, ...)
    end
    if not ok then text = show(fmt) .. " [log format error: " .. show(text) .. "]" end
    emit(level, text)
  end
end

local function level_number(level)
  if levels[level] then return levels[level] end
  local number = tonumber(level)
  if number and number >= -1 and number == floor(number) then
    return number > levels.debug4 and levels.debug4 or floor(number)
  end
end

slurm = {}
for name, value in next, constants do slurm[name] = value end
for name, number in next, levels do slurm["log_" .. name] = logger(number) end

function slurm.log(level, message)
  local number = level_number(level)
  if not number then
    raise("slurm.log: level " .. show(level) .. " is not a number from -1 (error) over 0 (info) to "
      .. "5 (debug4), nor the name of a level")
  end
  emit(number, show(message))
end

function slurm.error(message) emit(levels.error, show(message)) end

function print(...)
  local n, texts = select("#", ...), { ... }
  for i = 1, n do texts[i] = show(texts[i]) end
  emit(levels.info, concat(texts, "\t", 1, n))
end

-- Conversions. Rust reports failure as a value, so that the error is raised here as a string with
-- the place of the caller.

for name, f in next, convert do
  slurm[name] = function(value)
    local ok, result = f(value)
    if not ok then raise("slurm." .. name .. ": " .. result) end
    return result
  end
end

function slurm.array(value)
  if value == nil then value = {} end
  if type(value) ~= "table" then
    raise("slurm.array: expected a table, got " .. type(value))
  end
  local metatable = getmetatable(value)
  if metatable ~= nil and metatable ~= array_metatable then
    raise("slurm.array: the table has a metatable of its own")
  end
  return setmetatable(value, array_metatable)
end

-- The standard libraries.

function os.exit()
  raise("os.exit is not available here: return from the function, or raise an error")
end

_G.unpack = unpack
table.unpack = unpack

if plain_51 then
  -- This version takes LUA_PATH and LUA_CPATH from the environment in any case.
  local share, lib = "/usr/local/share/lua/5.1/", "/usr/local/lib/lua/5.1/"
  package.path = share .. "?.lua;" .. share .. "?/init.lua;" .. lib .. "?.lua;" .. lib
    .. "?/init.lua;/usr/share/lua/5.1/?.lua;/usr/share/lua/5.1/?/init.lua"
  package.cpath = lib .. "?.so;/usr/lib/" .. multiarch .. "/lua/5.1/?.so;"
    .. "/usr/lib64/lua/5.1/?.so;/usr/lib/lua/5.1/?.so"
end

-- The working directory can be a user's: a module missing elsewhere must not be taken from there.
local function without_relative(path)
  local kept = {}
  for template in gmatch(path, "[^;]+") do
    if sub(template, 1, 1) == "/" then kept[#kept + 1] = template end
  end
  return concat(kept, ";")
end
package.path = without_relative(package.path)
package.cpath = without_relative(package.cpath)

-- Calls.

local function describe_table(value)
  local metatable = getmetatable(value)
  if type(metatable) == "table" and rawget(metatable, "__tostring") then return show(value) end
  local fields = {}
  for key, field in next, value do
    local kind = type(field)
    if type(key) == "string" and (kind == "string" or kind == "number" or kind == "boolean") then
      fields[#fields + 1] = key .. "=" .. tostring(field)
    end
    if #fields == 100 then break end
  end
  if #fields == 0 then return "error value is a table: give error() a string" end
  sort(fields)
  return "error value is a table: "
    .. concat(fields, ", ", 1, #fields < MAX_FIELDS and #fields or MAX_FIELDS)
end

local function describe(value)
  local kind = type(value)
  if kind == "string" then return value end
  if kind == "table" then return describe_table(value) end
  if kind == "nil" then return "error value is nil: give error() a string" end
  return show(value)
end

local function results(...)
  if select("#", ...) <= MAX_RESULTS then return ... end
  return unpack({ ... }, 1, MAX_RESULTS)
end

-- Calls f with the arguments; returns true and its results, or false, the text of the error value,
-- its type and the traceback.
return function(f, ...)
  local n, arguments = select("#", ...), { ... }
  local trace, before = "", running
  running = f
  local function finish(ok, ...)
    running = before
    if ok then return true, results(...) end
    local value = ...
    return false, describe(value), type(value), trace
  end
  return finish(xpcall(
    -- xpcall of Lua 5.1 passes no arguments on.
    function() return f(unpack(arguments, 1, n)) end,
    function(value)
      trace = traceback("", 2)
      return value
    end
  ))
end
