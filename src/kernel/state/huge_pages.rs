//! Keeps Python's small objects in huge pages (transparent hugepages, see
//! Documentation/admin-guide/mm/transhuge.rst of Linux).
//!
//! A fork copies one entry of the page table for each page. A cell on a state with 600 MB of
//! objects is six times faster if they are in pages of 2 MiB. Linux uses such a page only if an
//! aligned area of its size was marked with `madvise` before it is first touched. Memory that is
//! written after a fork returns to ordinary pages, 2 MiB at a time.
//!
//! Python asks for arenas of 256 KiB or 1 MiB, and puts objects of up to 512 bytes there. This
//! module cuts the arenas from marked blocks. Larger objects are in malloc's heap, which glibc
//! marks by default on AArch64 since 2.43.
//!
//! Where the system offers no huge pages, all of this has no effect.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// Bytes of a block, and its alignment: a huge page of x86-64, and of AArch64 with 4 KiB pages.
const BLOCK: usize = 2 << 20;

/// Bytes of the smallest arenas. Python also allocates the stack of its frames with this allocator,
/// 16 KiB at a time; each of these pieces gets its own mapping.
const MIN_ARENA: usize = 256 * 1024;

static ARENAS: Mutex<Arenas> = Mutex::new(Arenas::new());

/// The blocks, and which arenas in them are free. The arenas of a block have the same size.
///
/// If these lists cannot grow, Python raises `MemoryError`, as for the arenas themselves. Other
/// collections would end the process.
struct Arenas {
    /// By falling address, because the system gives lower and lower ones.
    blocks: Vec<Block>,
    free: Vec<FreeArena>,
}

struct Block {
    address: usize,
    /// How many arenas of the block are in use.
    used: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FreeArena {
    address: usize,
    size: usize,
}

/// CPython's `PyObjectArenaAllocator` (Include/cpython/objimpl.h), the same in 3.4 to 3.14.
#[repr(C)]
struct ArenaAllocator {
    context: *mut c_void,
    allocate: extern "C" fn(*mut c_void, usize) -> *mut c_void,
    free: extern "C" fn(*mut c_void, *mut c_void, usize),
}

/// Sets Python's arena allocator. Each arena that Python has already has its own mapping, which
/// `free` unmaps.
pub(super) fn use_for_objects() {
    // SAFETY: asks for a function by name. All CPythons export it, but it is not in the stable ABI.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"PyObject_SetArenaAllocator".as_ptr()) };
    if function.is_null() {
        return;
    }
    let mut allocator = ArenaAllocator { context: ptr::null_mut(), allocate, free };
    // SAFETY: the type is that of CPython's documentation. Python copies the structure. The
    // functions do what PyObject_SetArenaAllocator demands: memory of `size` bytes aligned to a
    // page, or null.
    unsafe {
        let set = std::mem::transmute::<*mut c_void, extern "C" fn(*mut ArenaAllocator)>(function);
        set(&raw mut allocator);
    }
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
    const fn new() -> Self {
        Self { blocks: Vec::new(), free: Vec::new() }
    }

    /// The address of an arena; None if there is no memory.
    fn allocate(&mut self, size: usize) -> Option<usize> {
        if size < MIN_ARENA || !BLOCK.is_multiple_of(size) {
            return map(0, size, 0);
        }
        // Takes the lowest, so that the high blocks become free.
        let fitting = self.free.iter().enumerate().filter(|(_, free)| free.size == size);
        let Some((lowest, _)) = fitting.min_by_key(|(_, free)| free.address) else {
            return self.add_block(size);
        };
        let arena = self.free.swap_remove(lowest).address;
        if let Ok(at) = self.find(block_of(arena)) {
            self.blocks[at].used += 1;
        }
        Some(arena)
    }

    /// The index of a block; as an error, the index at which to insert it.
    fn find(&self, address: usize) -> Result<usize, usize> {
        self.blocks.binary_search_by(|block| address.cmp(&block.address))
    }

    /// Adds a block, whose first arena is returned and whose others are free.
    fn add_block(&mut self, size: usize) -> Option<usize> {
        self.blocks.try_reserve(1).ok()?;
        self.free.try_reserve(BLOCK / size).ok()?;
        // Below the lowest block, so that all blocks form one memory area: a fork copies each area.
        let below = self.blocks.last().and_then(|lowest| lowest.address.checked_sub(BLOCK));
        let address = below.and_then(map_at).or_else(map_anywhere)?;
        // SAFETY: the block was mapped just now. If this fails, its pages stay ordinary ones.
        unsafe { libc::madvise(ptr::with_exposed_provenance_mut(address), BLOCK, libc::MADV_HUGEPAGE) };
        let (Ok(at) | Err(at)) = self.find(address);
        self.blocks.insert(at, Block { address, used: 1 });
        let others = (size..BLOCK).step_by(size);
        self.free.extend(others.map(|offset| FreeArena { address: address + offset, size }));
        Some(address)
    }

    fn free(&mut self, arena: usize, size: usize) {
        let Ok(at) = self.find(block_of(arena)) else { return unmap(arena, size) };
        self.blocks[at].used -= 1;
        if self.blocks[at].used == 0 {
            let block = self.blocks.remove(at).address;
            self.free.retain(|free| block_of(free.address) != block);
            return unmap(block, BLOCK);
        }
        // SAFETY: Python no longer uses the arena. Its bytes are zero when it is used again.
        unsafe { libc::madvise(ptr::with_exposed_provenance_mut(arena), size, libc::MADV_DONTNEED) };
        if self.free.try_reserve(1).is_ok() {
            self.free.push(FreeArena { address: arena, size });
        }
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
    // SAFETY: nothing uses these pages. If this fails, they stay mapped and are only wasted.
    unsafe { libc::munmap(ptr::with_exposed_provenance_mut(address), size) };
}

/// Maps a block at this address. None if part of that memory is in use.
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
    use std::collections::BTreeSet;

    const ARENA: usize = BLOCK / 8;

    #[test]
    fn arenas_share_aligned_blocks_and_a_block_goes_with_its_last_arena() {
        let mut arenas = Arenas::new();
        let all: Vec<usize> = (0..16).map(|_| arenas.allocate(ARENA).unwrap()).collect();
        let distinct: BTreeSet<usize> = all.iter().copied().collect();
        assert_eq!(distinct.len(), 16);
        assert_eq!(arenas.blocks.len(), 2);
        assert!(arenas.blocks.iter().all(|block| block.address % BLOCK == 0));
        assert!(arenas.free.is_empty());
        all.iter().for_each(|arena| arenas.free(*arena, ARENA));
        assert!(arenas.blocks.is_empty() && arenas.free.is_empty());
    }

    #[test]
    fn arenas_of_different_sizes_are_in_different_blocks() {
        let mut arenas = Arenas::new();
        let small: Vec<usize> = (0..3).map(|_| arenas.allocate(ARENA).unwrap()).collect();
        let large: Vec<usize> = (0..3).map(|_| arenas.allocate(4 * ARENA).unwrap()).collect();
        assert!(small.iter().all(|one| large.iter().all(|other| block_of(*one) != block_of(*other))));
        small.iter().for_each(|arena| arenas.free(*arena, ARENA));
        large.iter().for_each(|arena| arenas.free(*arena, 4 * ARENA));
        assert!(arenas.blocks.is_empty() && arenas.free.is_empty());
    }

    #[test]
    fn an_arena_that_was_freed_is_zero_when_it_is_given_again() {
        let mut arenas = Arenas::new();
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
        let mut arenas = Arenas::new();
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
