//! Tells the linker where this build's libpython lives, so that `cargo run` needs no `LD_LIBRARY_PATH`; hands the program
//! the interpreter it was built with, the default of `--python`; and packs the page's files for the way to the browser.

use sha2::{Digest, Sha256};
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What the browser fetches as text, by ending.
const PACKED: [&str; 4] = ["js", "css", "svg", "txt"];

fn main() -> Result<(), Box<dyn Error>> {
    pyo3_build_config::add_libpython_rpath_link_args();
    let config = pyo3_build_config::get();
    let executable = config.executable().unwrap_or_default();
    println!("cargo:rustc-env=RATOON_BUILD_PYTHON={executable}");
    println!("cargo:rustc-env=RATOON_BUILD_PYTHON_VERSION={}", config.version());
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=web");
    pack_page(&PathBuf::from(std::env::var("OUT_DIR")?))
}

/// Writes `packed.rs`: a table from the SHA-256 of a file to the file packed, without its comments. At this quality it takes a second, so it is
/// not done when a browser asks; and a file that was changed since is not in the table, so it goes out as it is.
fn pack_page(out: &Path) -> Result<(), Box<dyn Error>> {
    let mut files = Vec::new();
    collect(Path::new("web"), &mut files)?;
    files.sort();
    fs::create_dir_all(out.join("packed"))?;
    let mut table = fs::File::create(out.join("packed.rs"))?;
    writeln!(table, "[")?;
    for file in files {
        let plain = fs::read(&file)?;
        let hash: [u8; 32] = Sha256::digest(&plain).into();
        let name: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let packed = out.join("packed").join(name);
        if !packed.exists() {
            fs::write(&packed, pack(&without_comments(&file, &plain))?)?;
        }
        writeln!(table, "    ({hash:?}, include_bytes!({packed:?})),")?;
    }
    writeln!(table, "]")?;
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| PACKED.iter().any(|known| ending == *known)) {
            files.push(path);
        }
    }
    Ok(())
}

/// Our own scripts and styles without comments, which are a quarter of what the browser would fetch; all other files as they
/// are. Known by their lines alone, so it holds for how this page is written: a browser test compares what is served with
/// the files. Lines stay where they are, so that an error names the line of the file.
fn without_comments(file: &Path, plain: &[u8]) -> Vec<u8> {
    let is_ours = !file.starts_with("web/vendor")
        && file.extension().is_some_and(|ending| ending == "js" || ending == "css");
    let Some(text) = std::str::from_utf8(plain).ok().filter(|_| is_ours) else { return plain.to_vec() };
    let mut left = String::with_capacity(text.len());
    let mut is_inside = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if is_inside {
            is_inside = !trimmed.contains("*/");
        } else if trimmed.starts_with("/*") && !trimmed.contains("*/") {
            is_inside = true;
        } else if !trimmed.starts_with("//") {
            left.push_str(without_asides(line).trim_end());
        }
        left.push('\n');
    }
    left.into_bytes()
}

/// A line without the comments that end on it.
fn without_asides(line: &str) -> String {
    let mut left = String::new();
    let mut rest = line;
    while let Some(at) = [rest.find("/** "), rest.find("/* ")].into_iter().flatten().min() {
        let Some((_, after)) = rest[at..].split_once("*/") else { break };
        left.push_str(&rest[..at]);
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    left + rest
}

fn pack(plain: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut packed = Vec::new();
    let parameters = brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 22, ..Default::default() };
    brotli::BrotliCompress(&mut &plain[..], &mut packed, &parameters)?;
    Ok(packed)
}
