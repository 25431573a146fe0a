/* Prints the sizes, offsets and values that the bindings state, as the installed headers have them. */
#include <stddef.h>
#include <stdio.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>
#include <slurm/spank.h>
#include "../c/libslurm.h"

#define VALUE(name) printf(#name " %lld\n", (long long) (name))
#define SIZE(type) printf("sizeof(" #type ") %zu\n", sizeof(type))
#define OFFSET(type, field) printf("offsetof(" #type "," #field ") %zu\n", offsetof(type, field))

int main(void)
{
	VALUE(SLURM_VERSION_NUMBER);
	VALUE(SPANK_OPTION_MAXLEN);
	VALUE(NO_VAL);
	VALUE(SLURM_INTERACTIVE_STEP);
	VALUE(SLURM_BATCH_SCRIPT);
	VALUE(SLURM_EXTERN_CONT);
	VALUE(SLURM_PENDING_STEP);
	VALUE(ESPANK_ERROR);
	VALUE(ESPANK_BAD_ARG);
	VALUE(ESPANK_NOT_TASK);
	VALUE(ESPANK_ENV_EXISTS);
	VALUE(ESPANK_ENV_NOEXIST);
	VALUE(ESPANK_NOSPACE);
	VALUE(ESPANK_NOT_REMOTE);
	VALUE(ESPANK_NOEXIST);
	VALUE(ESPANK_NOT_EXECD);
	VALUE(ESPANK_NOT_AVAIL);
	VALUE(ESPANK_NOT_LOCAL);
	VALUE(ESLURM_INVALID_JOB_ID);
	VALUE(S_JOB_UID);
	VALUE(S_JOB_ARGV);
	VALUE(S_TASK_EXIT_STATUS);
	VALUE(S_SLURM_VERSION);
	VALUE(S_JOB_ALLOC_MEM);
	VALUE(S_JOB_ARRAY_TASK_ID);
	VALUE(S_CTX_ERROR);
	VALUE(S_CTX_LOCAL);
	VALUE(S_CTX_REMOTE);
	VALUE(S_CTX_ALLOCATOR);
	VALUE(S_CTX_SLURMD);
	VALUE(S_CTX_JOB_SCRIPT);
	SIZE(spank_t);
	SIZE(spank_err_t);
	SIZE(spank_item_t);
	SIZE(struct spank_option);
	OFFSET(struct spank_option, arginfo);
	OFFSET(struct spank_option, usage);
	OFFSET(struct spank_option, has_arg);
	OFFSET(struct spank_option, val);
	OFFSET(struct spank_option, cb);
	SIZE(struct spank_job_record);
	OFFSET(struct spank_job_record, ended);
	OFFSET(struct spank_job_record, het_job_id);
	OFFSET(struct spank_job_record, start_time);
	OFFSET(struct spank_job_record, sluid);
	OFFSET(struct spank_job_record, network);
	OFFSET(struct spank_job_record, partition);
	return 0;
}
