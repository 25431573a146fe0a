//! Compares the bindings with the installed headers: each size, offset and value that we state.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;

use spank_sys::libslurm::JobRecord;
use spank_sys::{spank_err_t, spank_item_t, spank_option, spank_t};

/// Compiles and runs `abi.c`; its lines are `name value`.
fn of_headers(include: &str) -> BTreeMap<String, i64> {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("abi");
    let compiled = Command::new("cc")
        .arg("-I")
        .arg(include)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/abi.c"))
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let printed = Command::new(&program).output().unwrap();
    String::from_utf8(printed.stdout)
        .unwrap()
        .lines()
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}

macro_rules! values {
    ($($name:ident)*) => { [$((stringify!($name), i64::from(spank_sys::$name))),*] };
}

#[test]
fn the_bindings_are_those_of_the_installed_headers() {
    let Some(include) = option_env!("SPANK_SYS_INCLUDE") else {
        panic!("this build has no headers: install libslurm-dev");
    };
    let theirs = of_headers(include);
    let values = values! {
        SLURM_VERSION_NUMBER SPANK_OPTION_MAXLEN NO_VAL SLURM_INTERACTIVE_STEP SLURM_BATCH_SCRIPT
        SLURM_EXTERN_CONT SLURM_PENDING_STEP ESPANK_ERROR ESPANK_BAD_ARG ESPANK_NOT_TASK
        ESPANK_ENV_EXISTS ESPANK_ENV_NOEXIST ESPANK_NOSPACE ESPANK_NOT_REMOTE ESPANK_NOEXIST
        ESPANK_NOT_EXECD ESPANK_NOT_AVAIL ESPANK_NOT_LOCAL ESLURM_INVALID_JOB_ID S_JOB_UID S_JOB_ARGV S_TASK_EXIT_STATUS
        S_SLURM_VERSION S_JOB_ALLOC_MEM S_JOB_ARRAY_TASK_ID S_CTX_ERROR S_CTX_LOCAL S_CTX_REMOTE
        S_CTX_ALLOCATOR S_CTX_SLURMD S_CTX_JOB_SCRIPT
    };
    let sizes = [
        ("sizeof(spank_t)", size_of::<spank_t>()),
        ("sizeof(spank_err_t)", size_of::<spank_err_t>()),
        ("sizeof(spank_item_t)", size_of::<spank_item_t>()),
        ("sizeof(struct spank_option)", size_of::<spank_option>()),
        ("offsetof(struct spank_option,arginfo)", offset_of!(spank_option, arginfo)),
        ("offsetof(struct spank_option,usage)", offset_of!(spank_option, usage)),
        ("offsetof(struct spank_option,has_arg)", offset_of!(spank_option, has_arg)),
        ("offsetof(struct spank_option,val)", offset_of!(spank_option, val)),
        ("offsetof(struct spank_option,cb)", offset_of!(spank_option, cb)),
        ("sizeof(struct spank_job_record)", size_of::<JobRecord>()),
        ("offsetof(struct spank_job_record,ended)", offset_of!(JobRecord, ended)),
        ("offsetof(struct spank_job_record,het_job_id)", offset_of!(JobRecord, het_job_id)),
        ("offsetof(struct spank_job_record,start_time)", offset_of!(JobRecord, start_time)),
        ("offsetof(struct spank_job_record,sluid)", offset_of!(JobRecord, sluid)),
        ("offsetof(struct spank_job_record,network)", offset_of!(JobRecord, network)),
        ("offsetof(struct spank_job_record,partition)", offset_of!(JobRecord, partition)),
    ]
    .map(|(name, size)| (name, i64::try_from(size).unwrap()));
    let ours: BTreeMap<String, i64> =
        values.into_iter().chain(sizes).map(|(name, value)| (name.to_owned(), value)).collect();
    assert_eq!(ours, theirs);
}

/// The bindings in the source are what bindgen makes of 22.05, so a build without libclang is the
/// same build. Other releases add names that the source does not have.
#[cfg(all(feature = "bindgen", not(slurm_23_02)))]
#[test]
fn the_checked_in_bindings_are_the_generated_ones() {
    let checked_in = include_str!("../src/bindings/spank.rs");
    let generated = include_str!(concat!(env!("OUT_DIR"), "/bindings.rs"));
    assert!(
        checked_in == generated,
        "src/bindings/spank.rs is out of date: `make bindings` writes it anew"
    );
}
