//! Creates the Lua state; the one file of this crate with unsafe code.

use mlua::{Lua, LuaOptions, StdLib};

/// A state with all standard libraries, able to load C modules, that reads no environment variable.
pub(crate) fn new() -> mlua::Result<Lua> {
    // SAFETY: what mlua asks of the caller of this function is to accept that scripts can load C
    // modules and use `debug`, both of which can break Lua's own guarantees. The scripts are
    // trusted: they run as root anyway, and only files that root wrote are loaded.
    let lua = unsafe { Lua::unsafe_new_with(StdLib::NONE, LuaOptions::default()) };
    // Lua's package library takes LUA_PATH and LUA_CPATH from the environment unless this is set
    // when it is opened (loadlib.c, `noenv`). Lua 5.1 does not look: there stdlib.lua sets the
    // paths.
    lua.set_named_registry_value("LUA_NOENV", true)?;
    lua.load_std_libs(StdLib::ALL)?;
    Ok(lua)
}
