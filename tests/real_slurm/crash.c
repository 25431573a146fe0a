/* A Lua C module that crashes when it is loaded. */
int luaopen_crash(void *state)
{
	(void) state;
	*(volatile int *) 8 = 1;
	return 0;
}
