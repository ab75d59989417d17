//! The cost of a trivial cell, as counts that hardly change on a busy machine. The limits are
//! generous. `tests/bench/run counts` prints the exact counts.

use crate::list_variables::{children, private_bytes, rollup_bytes};
use crate::restarts::state_of;
use crate::server::{TestServer, until};

const CELLS: u64 = 30;
/// Maximum number of pages that the head copies for a cell, including its rehearsal. Usually some
/// 670.
const MAX_FAULTS: u64 = 850;
/// Maximum private memory in bytes. Usually some 2.6 MB in a build without optimisation.
const MAX_PRIVATE_BYTES: u64 = 3_200_000;

/// The number of page faults of a process since its start that did not read from the disk.
fn faults(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(7).unwrap().parse().unwrap()
}

#[test]
fn a_trivial_cell_copies_few_pages_and_its_state_needs_little_memory() {
    let server = TestServer::fresh();
    let ran = server.run("initial", "import os; print(os.getpid())");
    let head: u32 = ran.text().trim().parse().unwrap();
    let mut state = ran.state().to_owned();
    let mut chain = |cells: u64| {
        for number in 0..cells {
            state = server.run(&state, &format!("x = {number}")).state().to_owned();
        }
        state.clone()
    };
    chain(5);
    let before = faults(head);
    let last = chain(CELLS);
    let each = (faults(head) - before) / CELLS;
    assert!(each <= MAX_FAULTS, "{each} page faults per cell");
    until("the last state is frozen", || state_of(&server, &last)["living"] == "memory");
    let mut held: Vec<u64> = children(&server, head).iter().map(|frozen| private_bytes(frozen.pid)).collect();
    held.sort_unstable();
    let middle = held[held.len() / 2];
    eprintln!("{each} page faults per cell, {middle} bytes per state");
    assert!(middle <= MAX_PRIVATE_BYTES, "a state holds {middle} bytes");
}

#[test]
fn pythons_objects_are_in_huge_pages() {
    let offered = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    if offered.is_empty() || offered.contains("[never]") {
        eprintln!("this system offers no huge pages");
        return;
    }
    let server = TestServer::fresh();
    let ran = server.run("initial", "import os; print(os.getpid())");
    let head: u32 = ran.text().trim().parse().unwrap();
    server.run(ran.state(), "lists = [[i] for i in range(500_000)]");
    let huge = rollup_bytes(head, "AnonHugePages:");
    eprintln!("{huge} bytes of some 50 MB are in huge pages");
    assert!(huge >= 10_000_000, "{huge} bytes are in huge pages");
}
