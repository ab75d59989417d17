//! Prepares the page's files, which the program embeds: bundles them and compresses them.

#[path = "src/http/page/bundle.rs"]
mod bundle;

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

/// Extensions of the files that are compressed.
const TEXTS: [&str; 5] = ["js", "css", "svg", "txt", "csv"];
/// Extensions of the files that are embedded as they are.
const AS_THEY_ARE: [&str; 2] = ["html", "woff2"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=web");
    let read = |path: &str| fs::read_to_string(Path::new("web").join(path)).ok();
    println!("cargo:rustc-env=RATOON_PRELOADED={}", bundle::script("notebook.js", &read)?.vendored.join(" "));
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    write_export_script(&out, &read)?;
    let mut files: BTreeMap<String, Vec<u8>> =
        bundle::all(&read)?.into_iter().map(|(path, text)| (path, text.into_bytes())).collect();
    collect(Path::new("web"), &mut files)?;
    write_page(&out, files)
}

/// Writes the script of exported notebooks, which `src/formats/tree_page.rs` puts into each.
fn write_export_script(out: &Path, read: &dyn Fn(&str) -> Option<String>) -> Result<(), Box<dyn Error>> {
    let script = bundle::script("export/export.js", read)?;
    if !script.later.is_empty() || !script.vendored.is_empty() || script.now.contains("</script") {
        return Err(
            "an exported notebook has one script, which fetches nothing and does not end early".into()
        );
    }
    Ok(fs::write(out.join("export.js"), script.now)?)
}

/// Writes the folder `page`: each file under its path, or compressed under its path with `.br` at
/// the end. At this quality compression takes seconds, so the build does it, not each request, and
/// keeps the result for the next build.
fn write_page(out: &Path, files: BTreeMap<String, Vec<u8>>) -> Result<(), Box<dyn Error>> {
    let (page, folder) = (out.join("page"), out.join("packed"));
    if page.exists() {
        fs::remove_dir_all(&page)?;
    }
    fs::create_dir_all(&folder)?;
    let (texts, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|(path, _)| has_ending(path, &TEXTS));
    let place = |path: &str| {
        let place = page.join(path);
        place.parent().map(fs::create_dir_all).transpose()?;
        io::Result::Ok(place)
    };
    for (path, bytes) in others {
        fs::write(place(&path)?, bytes)?;
    }
    let mut packed = Vec::new();
    let mut unpacked = Vec::new();
    for (path, plain) in texts {
        let kept = packed_file(&folder, &Sha256::digest(&plain).into());
        packed.push((path, kept.clone()));
        if !kept.exists() {
            unpacked.push((plain, kept));
        }
    }
    pack_all(unpacked)?;
    for (path, kept) in packed {
        fs::copy(kept, place(&format!("{path}.br"))?)?;
    }
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

/// Adds the files below a folder that browsers fetch and that no bundle contains.
fn collect(folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
            continue;
        }
        let Some(name) = path.strip_prefix("web").ok().and_then(Path::to_str) else { continue };
        let is_served = has_ending(name, &TEXTS) || has_ending(name, &AS_THEY_ARE);
        if is_served && !bundle::is_part(name) {
            files.insert(name.to_owned(), fs::read(&path)?);
        }
    }
    Ok(())
}

fn has_ending(path: &str, endings: &[&str]) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending))
}

fn pack(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = Vec::new();
    let parameters = brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 22, ..Default::default() };
    brotli::BrotliCompress(&mut &plain[..], &mut packed, &parameters)?;
    Ok(packed)
}
