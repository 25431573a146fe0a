/* A required plug-in that fails in slurm_spank_init of a normal step, as a neighbour of ours. */
#include <stdint.h>
#include <slurm/spank.h>

SPANK_PLUGIN(fails_in_init, 1)

int slurm_spank_init(spank_t spank, int ac, char **av)
{
	uint32_t step = 0;

	(void) ac;
	(void) av;
	if (spank_context() != S_CTX_REMOTE ||
	    spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
		return 0;
	return step < 0xfffffff0 ? -1 : 0;
}
