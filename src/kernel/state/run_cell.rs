//! Runs one cell in a head, and reports how it ended and what branches of its state would lack.

use super::descriptors::Spare;
use super::kernel_process::{FrozenCopy, KernelProcess};
use super::process_exit::leave;
use super::python::Ran;
use super::{channel, children, freezable, report, robust_locks, sigint, threads};
use crate::kernel::memory::MemoryUse;
use crate::kernel::protocol::{CellOrder, CellReport, Hazards, How, Remains, Report, WidgetEnd};
use crate::notebook::{Cause, RunError, StreamName, WidgetMessage};
use pyo3::Python;

/// The longest name of an error, in bytes.
const MAX_ERROR_NAME_BYTES: usize = 200;

impl KernelProcess {
    pub(super) fn run(&mut self, py: Python<'_>, cell: &CellOrder) {
        if !self.frozen_copy.exists() {
            let refused = Ran {
                how: How::Refused,
                exec_count: 0,
                symbols: None,
                metric: None,
                remains: Remains::Nothing,
            };
            return report_end(refused, Hazards::only(Vec::new()));
        }
        if cell.has_memory_limit
            && let Some(memory) = MemoryUse::of(std::process::id().cast_signed())
        {
            report::send(&Report::MemoryUse(memory));
        }
        let mut ran = self.run_interruptibly(py, cell);
        let repairs = repair_or_refuse(&mut ran);
        let hazards = self.hazards(py, &ran, repairs);
        self.frozen_copy = FrozenCopy::Missing;
        report_end(ran, hazards);
    }

    /// Runs the code of a widget for a message of a page. Afterwards no frozen process holds this
    /// head's state, as after a cell.
    pub(super) fn handle_widget(&mut self, py: Python<'_>, message: &WidgetMessage) -> WidgetEnd {
        if !self.shell.has_widget(py, message.model()) {
            return WidgetEnd::Unknown;
        }
        self.frozen_copy = FrozenCopy::Missing;
        self.interruptibly(py, |process| process.shell.handle_widget(py, message));
        match freezable::make_freezable() {
            Ok(repairs) => WidgetEnd::Ran(self.all_hazards(py, repairs)),
            Err(why) => WidgetEnd::Unfit { why },
        }
    }

    fn run_interruptibly(&self, py: Python<'_>, cell: &CellOrder) -> Ran {
        self.interruptibly(py, |process| {
            report::send(&Report::Started);
            process.shell.run(py, cell)
        })
    }

    fn interruptibly<T>(&self, py: Python<'_>, code: impl FnOnce(&Self) -> T) -> T {
        let spare = Spare::take();
        sigint::allow();
        let ran = code(self);
        drop(spare);
        sigint::ignore_but_keep();
        if channel::is_users_child() {
            // User code has forked, and this child has reached the end of the cell. It is no head.
            let _ = channel::flush(StreamName::Stdout).and_then(|()| channel::flush(StreamName::Stderr));
            leave();
        }
        // Drops interrupts that arrived after the cell's last instruction: they must not stop the
        // next cell.
        while let Err(late) = py.check_signals() {
            drop(late);
        }
        ran
    }

    fn hazards(&self, py: Python<'_>, ran: &Ran, repairs: Vec<String>) -> Hazards {
        if !ran.can_be_a_state() {
            return Hazards::only(repairs);
        }
        self.all_hazards(py, repairs)
    }

    fn all_hazards(&self, py: Python<'_>, repairs: Vec<String>) -> Hazards {
        let mut all = self.shell.hazards(py);
        all.warnings.extend(repairs);
        if let Some(warning) = threads::warning(|| self.shell.native_ids(py)) {
            all.warnings.push(warning);
            (all.forks, all.is_alone) = (false, true);
        }
        if let Some(warning) = robust_locks::warning() {
            all.warnings.push(warning);
            (all.forks, all.is_alone) = (false, true);
        }
        if let Some(warning) = children::warning(&self.forked) {
            all.warnings.push(warning);
            all.is_alone = true;
        }
        all
    }
}

/// Repairs the process so that its state can be frozen. If that fails, the run leaves no state.
/// Returns a sentence about each repair.
fn repair_or_refuse(ran: &mut Ran) -> Vec<String> {
    if !ran.can_be_a_state() {
        return Vec::new();
    }
    freezable::make_freezable().unwrap_or_else(|why| {
        if matches!(ran.how, How::Ok) {
            ran.how = How::Error(RunError::of(Cause::StateNotKept, &why));
        }
        ran.remains = Remains::Unfit(why);
        Vec::new()
    })
}

fn report_end(ran: Ran, hazards: Hazards) {
    let Ran { mut how, exec_count, remains, symbols, metric } = ran;
    if let How::Error(RunError { ename, .. }) = &mut how {
        ename.truncate(ename.floor_char_boundary(MAX_ERROR_NAME_BYTES));
    }
    if let Some(symbols) = symbols {
        report::send(&Report::Symbols(symbols));
    }
    if let (How::Ok, Some(metric)) = (&how, metric) {
        report::send(&Report::Metric(metric));
    }
    report::send(&Report::Ended { how, report: CellReport { exec_count, hazards }, remains });
}
