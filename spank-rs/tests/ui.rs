//! Ring 2: what must not compile, one rule of the API a file, with its message stored beside it.
//! `TRYBUILD=overwrite cargo test -p spank-rs --test ui` writes the messages anew.

#[test]
fn what_slurm_would_refuse_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
