//! Compresses the page's files.

// The server uses more of this module than the build does.
#[allow(dead_code)]
#[path = "src/http/page/bundle.rs"]
mod bundle;

use sha2::{Digest, Sha256};
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

/// Extensions of the files that browsers fetch as text.
const PACKED: [&str; 4] = ["js", "css", "svg", "txt"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=web");
    pack_page(&PathBuf::from(std::env::var("OUT_DIR")?))
}

/// Writes `packed.rs`: a table from the SHA-256 of a file to its brotli-compressed bytes. The table
/// contains the bundles, and all other files that browsers fetch as text. At this quality
/// compression takes seconds, so the build does it, not each request. A file that was changed
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
    let folder = out.join("packed");
    fs::create_dir_all(&folder)?;
    let mut digests: Vec<[u8; 32]> = Vec::new();
    let mut unpacked = Vec::new();
    for plain in texts {
        let digest = Sha256::digest(&plain).into();
        let packed = packed_file(&folder, &digest);
        digests.push(digest);
        if !packed.exists() {
            unpacked.push((plain, packed));
        }
    }
    pack_all(unpacked)?;
    let mut table = fs::File::create(out.join("packed.rs"))?;
    writeln!(table, "[")?;
    for digest in digests {
        let packed = packed_file(&folder, &digest);
        writeln!(table, "    ({digest:?}, include_bytes!({packed:?})),")?;
    }
    writeln!(table, "]")?;
    Ok(())
}

/// The file of the packed bytes of a text with this SHA-256.
fn packed_file(folder: &Path, digest: &[u8; 32]) -> PathBuf {
    folder.join(digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// Packs each text into its file, on all cores.
fn pack_all(mut texts: Vec<(Vec<u8>, PathBuf)>) -> io::Result<()> {
    // The large ones first, so that none of them is packed alone at the end.
    texts.sort_by_key(|(plain, _)| plain.len());
    let texts = Mutex::new(texts);
    let next = || texts.lock().map(|mut texts| texts.pop()).ok().flatten();
    let pack_rest = || {
        while let Some((plain, packed)) = next() {
            // A build that is killed here leaves no half file under the name of a whole one.
            let unfinished = packed.with_extension("part");
            fs::write(&unfinished, pack(&plain)?)?;
            fs::rename(unfinished, packed)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(pack_rest)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(result) => result,
            Err(_) => Err(io::Error::other("packing panicked")),
        })
    })
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

fn pack(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = Vec::new();
    let parameters = brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 22, ..Default::default() };
    brotli::BrotliCompress(&mut &plain[..], &mut packed, &parameters)?;
    Ok(packed)
}
