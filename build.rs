//! Compresses the page's files.

// The server uses more of this module than the build does.
#[allow(dead_code)]
#[path = "src/http/page/bundle.rs"]
mod bundle;

use sha2::{Digest, Sha256};
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Extensions of the files that browsers fetch as text.
const PACKED: [&str; 4] = ["js", "css", "svg", "txt"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=web");
    pack_page(&PathBuf::from(std::env::var("OUT_DIR")?))
}

/// Writes `packed.rs`: a table from the SHA-256 of a file to its brotli-compressed bytes. The table
/// contains the bundles, and all other files that browsers fetch as text. At this quality
/// compression takes a second, so the build does it, not each request. A file that was changed
/// after the build is not in the table, and is served uncompressed.
fn pack_page(out: &Path) -> Result<(), Box<dyn Error>> {
    let read = |path: &str| fs::read_to_string(Path::new("web").join(path)).ok();
    let mut texts: Vec<Vec<u8>> = bundle::all(&read)?.into_values().map(String::into_bytes).collect();
    let mut files = Vec::new();
    collect(Path::new("web"), &mut files)?;
    files.sort();
    for file in files {
        texts.push(fs::read(file)?);
    }
    fs::create_dir_all(out.join("packed"))?;
    let mut table = fs::File::create(out.join("packed.rs"))?;
    writeln!(table, "[")?;
    for plain in texts {
        let hash: [u8; 32] = Sha256::digest(&plain).into();
        let name: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let packed = out.join("packed").join(name);
        if !packed.exists() {
            fs::write(&packed, pack(&plain)?)?;
        }
        writeln!(table, "    ({hash:?}, include_bytes!({packed:?})),")?;
    }
    writeln!(table, "]")?;
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_ours = !path.starts_with("web/vendor");
        if path.is_dir() {
            collect(&path, files)?;
        } else if is_ours && path.extension().is_some_and(|ending| ending == "js" || ending == "css") {
            // A bundle contains it.
        } else if path.extension().is_some_and(|ending| PACKED.iter().any(|known| ending == *known)) {
            files.push(path);
        }
    }
    Ok(())
}

fn pack(plain: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut packed = Vec::new();
    let parameters = brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 22, ..Default::default() };
    brotli::BrotliCompress(&mut &plain[..], &mut packed, &parameters)?;
    Ok(packed)
}
