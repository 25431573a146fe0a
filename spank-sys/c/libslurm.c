/* Every call into libslurm, compiled against the installed slurm.h; see libslurm.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#include "libslurm.h"

#define SINCE(major, minor) (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(major, minor, 0))

/* What a failed call left in errno; a failure that set none is still a failure. */
static int failure(void)
{
	return errno ? errno : SLURM_ERROR;
}

static char *copy(const char *text)
{
	return (text && *text) ? strdup(text) : NULL;
}

static uint32_t id_of(const job_info_t *job)
{
#if SINCE(25, 11)
	return job->step_id.job_id;
#else
	return job->job_id;
#endif
}

static void take(const job_info_t *job, struct spank_job_record *record)
{
	record->job_id = id_of(job);
	record->restart_count = job->restart_cnt;
	record->ended = (job->job_state & JOB_STATE_BASE) > JOB_SUSPENDED &&
			!(job->job_state & JOB_COMPLETING);
	if (job->het_job_id != NO_VAL)
		record->het_job_id = job->het_job_id;
	record->start_time = job->start_time;
#if SINCE(25, 11)
	record->sluid = job->step_id.sluid;
#endif
	record->network = copy(job->network);
	record->partition = copy(job->partition);
}

static int load(uint32_t job_id, job_info_msg_t **reply)
{
	int rc;

	*reply = NULL;
	errno = 0;
	/* SHOW_LOCAL: without it the call asks for the clusters of a federation first. */
#if SINCE(26, 5)
	slurm_step_id_t step = SLURM_STEP_ID_INITIALIZER;
	step.job_id = job_id;
	rc = slurm_load_job(reply, step, SHOW_LOCAL);
#else
	rc = slurm_load_job(reply, job_id, SHOW_LOCAL);
#endif
	return (rc == SLURM_SUCCESS) ? 0 : failure();
}

int spank_libslurm_load_job(uint32_t job_id, struct spank_job_record *record)
{
	job_info_msg_t *reply;
	int rc;

	memset(record, 0, sizeof(*record));
	rc = load(job_id, &reply);
	if (rc)
		return rc;
	/* The id of an array's last task answers with the whole array: take our record only. */
	rc = ESLURM_INVALID_JOB_ID;
	for (uint32_t i = 0; reply && i < reply->record_count; i++) {
		if (id_of(&reply->job_array[i]) == job_id) {
			take(&reply->job_array[i], record);
			rc = 0;
			break;
		}
	}
	slurm_free_job_info_msg(reply);
	return rc;
}

void spank_libslurm_free_job(struct spank_job_record *record)
{
	free(record->network);
	free(record->partition);
	record->network = record->partition = NULL;
}

int spank_libslurm_kill_step(uint32_t job_id, uint32_t step_id, uint16_t signal)
{
	int rc;

	errno = 0;
#if SINCE(25, 11)
	slurm_step_id_t step = SLURM_STEP_ID_INITIALIZER;
	step.job_id = job_id;
	step.step_id = step_id;
	rc = slurm_kill_job_step(&step, signal, 0);
#elif SINCE(23, 11)
	rc = slurm_kill_job_step(job_id, step_id, signal, 0);
#else
	rc = slurm_kill_job_step(job_id, step_id, signal);
#endif
	return (rc == SLURM_SUCCESS) ? 0 : failure();
}

int spank_libslurm_kill_het_step(uint32_t leader, uint32_t step_id, uint16_t signal)
{
	job_info_msg_t *reply;
	int rc = load(leader, &reply);

	if (rc)
		return rc;
	/* The leader's id answers with all components. */
	rc = ESLURM_INVALID_JOB_ID;
	for (uint32_t i = 0; reply && i < reply->record_count; i++) {
		const job_info_t *job = &reply->job_array[i];

		/* Success with one is success: a component may have no such step any more. */
		if (job->het_job_id == leader &&
		    !spank_libslurm_kill_step(id_of(job), step_id, signal))
			rc = 0;
	}
	slurm_free_job_info_msg(reply);
	return rc;
}

int spank_libslurm_drain_node(const char *node, const char *reason)
{
	update_node_msg_t update;
	char *name, *text;
	int rc = ENOMEM;

	slurm_init_update_node_msg(&update);
	/* Copies, since the structure wants them writable. */
	name = strdup(node);
	text = strdup(reason);
	if (name && text) {
		update.node_names = name;
		update.reason = text;
		update.node_state = NODE_STATE_DRAIN;
#if !SINCE(26, 5)
		update.reason_uid = getuid();
#endif
		errno = 0;
		rc = (slurm_update_node(&update) == SLURM_SUCCESS) ? 0 : failure();
	}
	free(name);
	free(text);
	return rc;
}

void spank_libslurm_init(void)
{
	slurm_init(NULL);
}
