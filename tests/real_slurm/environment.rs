//! The environment that step_init returns.

use crate::site::{SOON, site};

/// SW-214, SW-216, SW-219 to SW-225, CASES A46: values as the document has them.
#[test]
fn every_task_gets_the_environment_of_step_init() {
    let site = site(
        r#"
function slurm_switch_step_init(step)
  return 0, {
    S = "a b=c", I = 42, F = 4.0, H = 0.5, T = true, GONE = false,
    TABLE = {}, FUNC = print, [1] = "x", ["A=B"] = "x", ["NUL\0"] = "x", V = "a\0b",
    LONG = string.rep("x", 131072), FITS = string.rep("y", 120000),
    SLURM_PROCID = "99", SLURM_JOB_ID = "98", SLURM_MINE = "97", SLURM_UMASK = "0777",
  }
end
"#,
    )
    .start();
    let show = "echo $SLURM_PROCID/$S/$I/$F/$H/$T/${GONE-unset}/${#FITS}/${LONG-unset}/\
                $SLURM_JOB_ID/${SLURM_MINE-unset}/$(umask)/${TABLE-unset}/${V-unset}";
    let out = site
        .cluster
        .user(&["srun", "--network=x", "-n3", "sh", "-c", show])
        .env("GONE", "was set")
        .output();
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    let mut lines: Vec<&str> = out.stdout.lines().collect();
    lines.sort_unstable();
    let job = lines[0].split('/').nth(9).unwrap().to_owned();
    for (task, line) in lines.iter().enumerate() {
        let expected =
            format!("{task}/a b=c/42/4/0.5/1/unset/120000/unset/{job}/unset/0022/unset/unset");
        assert_eq!(*line, expected);
    }
    assert_ne!(job, "98");
    let log = site.cluster.slurmd_log("node1");
    for name in ["TABLE", "FUNC", "A=B", "V", "LONG", "SLURM_PROCID", "SLURM_MINE", "SLURM_UMASK"] {
        let skipped = log.lines().any(|l| l.contains("switch/lua") && l.contains(name));
        assert!(skipped, "nothing is said of {name}\n{log}");
    }
    site.wait_clean();
}

/// SW-216: the table may be omitted, and is only read with a step that goes on.
#[test]
fn no_table_and_a_wrong_table_change_nothing() {
    for (answer, said) in [("0", None), ("0, nil", None), ("0, 'text'", Some("string"))] {
        let site = site(&format!(
            "function slurm_switch_step_init(step) note('init', step) return {answer} end\n"
        ))
        .start();
        let out = site.run(&["srun", "--network=x", "true"]);
        assert_eq!(out.code, Some(0), "{}", out.stderr);
        if let Some(said) = said {
            let log = site.cluster.slurmd_log("node1");
            assert!(log.lines().any(|l| l.contains("slurm_switch_step_init") && l.contains(said)));
        }
        site.wait_clean();
    }
}

/// Each step on each node has an environment of its own.
#[test]
fn nodes_and_steps_have_their_own_environment() {
    let site = site(
        "function slurm_switch_step_init(step)\n\
           return 0, {WHERE = step.node .. '/' .. step.step_id}\n\
         end\n",
    )
    .nodes(3)
    .start();
    let steps = "srun -N3 sh -c 'echo $WHERE $SLURMD_NODENAME'; \
                 srun -N1 -n1 -w node2 sh -c 'echo $WHERE $SLURMD_NODENAME'";
    let out = site.run(&["salloc", "--network=x", "-N3", "sh", "-c", steps]);
    let mut lines: Vec<&str> = out.stdout.lines().collect();
    lines.sort_unstable();
    let expected = ["node1/0 node1", "node2/0 node2", "node2/1 node2", "node3/0 node3"];
    assert_eq!(lines, expected, "{}", out.stderr);
    site.cluster.wait_idle(SOON);
}
