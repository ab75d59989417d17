//! Content-addressed files: what a notebook keeps that is large. The same bytes are kept once.
//!
//! A blob's name is the BLAKE3 digest of its bytes, unpacked. Written to a temporary file, fsynced, renamed, and its folder
//! fsynced, so that a name that is there always means whole content. Used by both ends: a saving process writes blobs,
//! the store counts and checks them, a restoring process reads them. Knows nothing of notebooks. See docs/format.md.
