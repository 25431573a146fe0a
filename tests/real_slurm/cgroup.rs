//! The points that depend on how Slurm holds and ends tasks, once more with proctrack/cgroup and
//! task/cgroup.

use crate::{calls, deaths, drains, refusals};

#[test]
fn cgroup_the_three_functions_run_once_per_step_and_node() {
    calls::srun_salloc_and_sbatch_on_one_and_three_nodes(true);
}

#[test]
fn cgroup_special_steps() {
    calls::special_steps(true);
}

#[test]
fn cgroup_a_refused_step_fails_and_drains_nothing() {
    refusals::refused_step(true);
}

#[test]
fn cgroup_a_negative_postfini_drains() {
    drains::required_drains_when_the_job_ends(true);
}

#[test]
fn cgroup_a_killed_slurmstepd_gets_its_postfini_from_the_epilog() {
    deaths::killed_slurmstepd(true);
}

#[test]
fn cgroup_a_neighbour_that_fails_in_init_does_not_cost_the_postfini() {
    deaths::neighbour_fails_in_init(true);
}
