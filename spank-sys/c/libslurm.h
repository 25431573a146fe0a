/*
 * The libslurm calls of this project, behind a structure and prototypes of its own.
 *
 * Slurm's prototypes and structures change from release to release. Only libslurm.c sees them; the
 * Rust side sees what stands here and nothing else. Every call needs a process that has libslurmfull
 * (slurmd, slurmstepd); from user_init none may be made (since 23.02 it ends slurmstepd).
 */
#ifndef SPANK_LIBSLURM_H
#define SPANK_LIBSLURM_H

#include <stdint.h>

struct spank_job_record {
	uint32_t job_id;
	uint32_t restart_count;
	uint32_t ended;		/* 1 if the run is over, its completion included */
	uint32_t het_job_id;	/* the leader of a heterogeneous job; 0 for other jobs */
	int64_t start_time;	/* seconds since the epoch; 0 if unknown */
	uint64_t sluid;		/* 0 before 25.11, which has none */
	char *network;		/* from malloc; NULL if the job asked for none */
	char *partition;	/* from malloc; may be NULL */
};

/* Each returns 0, or Slurm's error number (never 0 on failure). */
int spank_libslurm_load_job(uint32_t job_id, struct spank_job_record *record);
void spank_libslurm_free_job(struct spank_job_record *record);
int spank_libslurm_kill_step(uint32_t job_id, uint32_t step_id, uint16_t signal);

/* The same for each component of a heterogeneous job, by its leader. */
int spank_libslurm_kill_het_step(uint32_t leader, uint32_t step_id, uint16_t signal);
int spank_libslurm_drain_node(const char *node, const char *reason);

/* Reads the configuration; needed once in a process that Slurm did not initialise (job_script). */
void spank_libslurm_init(void);

#endif
