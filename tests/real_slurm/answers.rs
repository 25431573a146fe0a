//! What the script answers, and what Slurm then does.

use crate::site::{ALL_ZERO, site};

#[test]
fn srun_calls_preinit_init_postfini_once_and_in_this_order() {
    let site = site(ALL_ZERO).start();
    let out = site.run(&["srun", "--network=x", "-n2", "true"]);
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    site.wait_clean();
    assert_eq!(site.functions(), ["preinit", "init", "postfini"]);
}
