//! Keeps Python's objects in huge pages (transparent hugepages, see
//! Documentation/admin-guide/mm/transhuge.rst of Linux).
//!
//! A fork copies one entry of the page table for each page. A cell on a state with 600 MB of
//! objects is six times faster if they are in pages of 2 MiB. Linux uses such a page only if an
//! aligned area of its size was marked with `madvise` before it is first touched. Memory that is
//! written after a fork returns to ordinary pages, 2 MiB at a time.
//!
//! - Objects of up to 512 bytes: Python asks for arenas of 256 KiB or 1 MiB, which are cut from
//!   marked blocks here.
//! - Larger ones come from malloc. glibc since 2.35 marks its heap if a tunable says so; it reads
//!   that from the environment with which the root is started.
//!
//! Where the system offers no huge pages, all of this has no effect.

#![allow(unsafe_code)]

use crate::kernel::protocol::MALLOC_TUNABLE;
use pyo3::ffi;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// Bytes of a block, and its alignment: a huge page of x86-64, and of AArch64 with 4 KiB pages.
const BLOCK: usize = 2 << 20;

/// Bytes of the smallest arenas. Python takes the pages of its frames by the same functions, 16 KiB
/// at a time; they are mapped by themselves.
const MIN_ARENA: usize = 256 * 1024;

static ARENAS: Mutex<Arenas> = Mutex::new(Arenas { blocks: BTreeMap::new(), free: BTreeSet::new() });

/// The blocks, and which arenas in them are free. The arenas of a block have the same size.
struct Arenas {
    /// How many arenas of a block are in use, by its address.
    blocks: BTreeMap<usize, usize>,
    /// Sizes and addresses of free arenas.
    free: BTreeSet<(usize, usize)>,
}

/// Removes malloc's tunable from the environment: programs that cells start must not find it. Must
/// be called before any thread exists.
pub(super) fn hide_tunable() {
    // SAFETY: there is only one thread.
    unsafe { std::env::remove_var(MALLOC_TUNABLE.0) };
}

/// Sets Python's arena allocator. Must be called before Python starts.
pub(super) fn use_for_objects() {
    let mut allocator =
        ffi::PyObjectArenaAllocator { ctx: ptr::null_mut(), alloc: Some(allocate), free: Some(free) };
    // SAFETY: Python copies the structure. The functions do what PyObject_SetArenaAllocator
    // demands: memory of `size` bytes aligned to a page, or null.
    unsafe { ffi::PyObject_SetArenaAllocator(&raw mut allocator) };
}

extern "C" fn allocate(_: *mut c_void, size: usize) -> *mut c_void {
    // Python holds the GIL here, so no fork can copy a locked mutex.
    let mut arenas = ARENAS.lock().unwrap_or_else(PoisonError::into_inner);
    arenas.allocate(size).map_or(ptr::null_mut(), ptr::with_exposed_provenance_mut)
}

extern "C" fn free(_: *mut c_void, arena: *mut c_void, size: usize) {
    let mut arenas = ARENAS.lock().unwrap_or_else(PoisonError::into_inner);
    arenas.free(arena.expose_provenance(), size);
}

impl Arenas {
    /// The address of an arena; None if there is no memory.
    fn allocate(&mut self, size: usize) -> Option<usize> {
        if size < MIN_ARENA || !BLOCK.is_multiple_of(size) {
            return map(0, size, 0);
        }
        // The lowest, so that the high blocks become free.
        let lowest = self.free.range((size, 0)..=(size, usize::MAX)).next().copied();
        let arena = match lowest {
            Some(free) => {
                self.free.remove(&free);
                free.1
            }
            None => self.add_block(size)?,
        };
        *self.blocks.entry(block_of(arena)).or_default() += 1;
        Some(arena)
    }

    /// Adds a block, whose first arena is returned and the others are free.
    fn add_block(&mut self, size: usize) -> Option<usize> {
        // Below the lowest block, so that all of them form one memory area: each costs a fork time.
        let below = self.blocks.keys().next().and_then(|lowest| lowest.checked_sub(BLOCK));
        let block = below.and_then(map_at).or_else(map_anywhere)?;
        // SAFETY: the block was mapped just now. If this fails, its pages are ordinary ones.
        unsafe { libc::madvise(ptr::with_exposed_provenance_mut(block), BLOCK, libc::MADV_HUGEPAGE) };
        self.free.extend((size..BLOCK).step_by(size).map(|offset| (size, block + offset)));
        Some(block)
    }

    fn free(&mut self, arena: usize, size: usize) {
        let block = block_of(arena);
        let Some(used) = self.blocks.get_mut(&block) else { return unmap(arena, size) };
        *used -= 1;
        if *used > 0 {
            // SAFETY: Python no longer uses the arena. It is zero when it is used again.
            unsafe { libc::madvise(ptr::with_exposed_provenance_mut(arena), size, libc::MADV_DONTNEED) };
            self.free.insert((size, arena));
            return;
        }
        self.blocks.remove(&block);
        self.free.retain(|(_, free)| block_of(*free) != block);
        unmap(block, BLOCK);
    }
}

fn block_of(arena: usize) -> usize {
    arena - arena % BLOCK
}

fn map(address: usize, size: usize, flags: libc::c_int) -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: no flag lets this replace an existing mapping.
    let mapped =
        unsafe { libc::mmap(ptr::with_exposed_provenance_mut(address), size, protection, flags, -1, 0) };
    (mapped != libc::MAP_FAILED).then(|| mapped.expose_provenance())
}

fn unmap(address: usize, size: usize) {
    // SAFETY: nothing uses these pages. Failing leaves them mapped, which only wastes them.
    unsafe { libc::munmap(ptr::with_exposed_provenance_mut(address), size) };
}

/// Maps a block at this address. None if that is not free.
fn map_at(address: usize) -> Option<usize> {
    let mapped = map(address, BLOCK, libc::MAP_FIXED_NOREPLACE)?;
    if mapped == address {
        return Some(mapped);
    }
    // Linux before 4.17 ignores the flag.
    unmap(mapped, BLOCK);
    None
}

fn map_anywhere() -> Option<usize> {
    let mapped = map(0, 2 * BLOCK, 0)?;
    let block = mapped.next_multiple_of(BLOCK);
    let after = block + BLOCK;
    if block > mapped {
        unmap(mapped, block - mapped);
    }
    if mapped + 2 * BLOCK > after {
        unmap(after, mapped + 2 * BLOCK - after);
    }
    Some(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARENA: usize = BLOCK / 8;

    fn none() -> Arenas {
        Arenas { blocks: BTreeMap::new(), free: BTreeSet::new() }
    }

    #[test]
    fn arenas_share_aligned_blocks_and_a_block_goes_with_its_last_arena() {
        let mut arenas = none();
        let all: Vec<usize> = (0..16).map(|_| arenas.allocate(ARENA).unwrap()).collect();
        let distinct: BTreeSet<usize> = all.iter().copied().collect();
        assert_eq!(distinct.len(), 16);
        assert_eq!(arenas.blocks.len(), 2);
        assert!(arenas.blocks.keys().all(|block| block % BLOCK == 0));
        assert!(arenas.free.is_empty());
        all.iter().for_each(|arena| arenas.free(*arena, ARENA));
        assert!(arenas.blocks.is_empty() && arenas.free.is_empty());
    }

    #[test]
    fn arenas_of_different_sizes_are_in_different_blocks() {
        let mut arenas = none();
        let small: Vec<usize> = (0..3).map(|_| arenas.allocate(ARENA).unwrap()).collect();
        let large: Vec<usize> = (0..3).map(|_| arenas.allocate(4 * ARENA).unwrap()).collect();
        assert!(small.iter().all(|one| large.iter().all(|other| block_of(*one) != block_of(*other))));
        small.iter().for_each(|arena| arenas.free(*arena, ARENA));
        large.iter().for_each(|arena| arenas.free(*arena, 4 * ARENA));
        assert!(arenas.blocks.is_empty() && arenas.free.is_empty());
    }

    #[test]
    fn an_arena_that_was_freed_is_zero_when_it_is_given_again() {
        let mut arenas = none();
        let kept = arenas.allocate(ARENA).unwrap();
        let arena = arenas.allocate(ARENA).unwrap();
        let first = ptr::with_exposed_provenance_mut::<u64>(arena);
        // SAFETY: the arena is mapped and used by nothing else.
        unsafe { first.write(7) };
        arenas.free(arena, ARENA);
        let others: Vec<usize> = (0..7).map(|_| arenas.allocate(ARENA).unwrap()).collect();
        assert!(others.contains(&arena), "a free arena is used before a block is added");
        // SAFETY: as above.
        assert_eq!(unsafe { first.read() }, 0);
        others.iter().chain([&kept]).for_each(|arena| arenas.free(*arena, ARENA));
        assert!(arenas.blocks.is_empty());
    }

    #[test]
    fn memory_of_other_sizes_is_not_part_of_a_block() {
        let mut arenas = none();
        let sizes = [16 * 1024, 3 * ARENA, 2 * BLOCK];
        let others = sizes.map(|size| (arenas.allocate(size).unwrap(), size));
        assert!(arenas.blocks.is_empty());
        for (arena, size) in others {
            // SAFETY: the arena is mapped and used by nothing else.
            unsafe { ptr::with_exposed_provenance_mut::<u8>(arena + size - 1).write(1) };
            arenas.free(arena, size);
        }
    }
}
