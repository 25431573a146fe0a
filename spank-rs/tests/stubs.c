/* Slurm's functions for the unit tests, which run outside of Slurm: linked into tests alone. */
#include <stddef.h>

#define STUB(name) int name(void) { return 3000; }

const char *spank_strerror(unsigned int code)
{
	return (code == 3009) ? "Item not available from this callback" : NULL;
}

int spank_context(void) { return 0; }

STUB(spank_get_item)
STUB(spank_getenv)
STUB(spank_setenv)
STUB(spank_unsetenv)
STUB(slurm_error)
STUB(slurm_info)
STUB(slurm_verbose)
STUB(slurm_debug)
STUB(slurm_debug2)
STUB(slurm_debug3)
STUB(slurm_spank_log)
STUB(slurm_load_job)
STUB(slurm_free_job_info_msg)
STUB(slurm_kill_job_step)
STUB(slurm_init_update_node_msg)
STUB(slurm_update_node)
STUB(slurm_init)
