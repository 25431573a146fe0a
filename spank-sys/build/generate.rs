//! Runs bindgen over the installed spank.h.

use std::path::Path;

/// Writes the bindings to `to`. Comments of the header are left out: it is under another licence,
/// and only names, types and numbers are taken.
pub fn bindings(include: &Path, to: &Path) -> Result<(), String> {
    bindgen::Builder::default()
        .header("include/wrapper.h")
        .clang_arg(format!("-I{}", include.display()))
        .allowlist_function("spank_.*|slurm_(info|error|verbose|debug|debug2|debug3|spank_log)")
        // Looked up at run time (23.11 and later), so that one build loads on each micro release.
        .blocklist_function("spank_prepend_task_argv")
        .allowlist_type("spank_.*")
        .allowlist_var("ESPANK_.*|SPANK_OPTION_MAXLEN|SLURM_SUCCESS|SLURM_ERROR")
        // Its "no error" is a macro and not a member, so no Rust enum can hold every value.
        .default_enum_style(bindgen::EnumVariation::Consts)
        .prepend_enum_name(false)
        .generate_comments(false)
        .layout_tests(false)
        .derive_debug(false)
        .use_core()
        .formatter(bindgen::Formatter::Prettyplease)
        .generate()
        .map_err(|e| {
            format!(
                "bindgen cannot read slurm/spank.h: {e}\n\
                 It needs libclang (`apt-get install libclang-dev`); without it build spank-sys \
                 with `default-features = false`, which takes the bindings kept in the source"
            )
        })?
        .write_to_file(to)
        .map_err(|e| format!("cannot write {}: {e}", to.display()))
}
