//! Tells the linker where this build's libpython lives, so that `cargo run` needs no `LD_LIBRARY_PATH`, and
//! hands the program the interpreter it was built with: the default of `--python`.

fn main() {
    pyo3_build_config::add_libpython_rpath_link_args();
    let config = pyo3_build_config::get();
    let executable = config.executable().unwrap_or_default();
    println!("cargo:rustc-env=RATOON_BUILD_PYTHON={executable}");
    println!("cargo:rustc-env=RATOON_BUILD_PYTHON_VERSION={}", config.version());
}
