//! Sends reports to the server, each with its position among the outputs.

use super::{capture, control};
use crate::kernel::protocol::{Envelope, Report, frame};
use serde_json::value::RawValue;

/// Sends a report. Ends this process if the server is gone or cannot be reached.
pub(super) fn send(report: &Report) {
    control::send_frame(&frame(&Envelope { report, written: capture::written() }));
}

/// Sends a report that Python has encoded as JSON.
///
/// # Errors
/// The text is not JSON.
pub(super) fn send_json(report: &str) -> serde_json::Result<()> {
    if control::is_held() {
        let report: &RawValue = serde_json::from_str(report)?;
        control::send_frame(&frame(&Envelope { report, written: capture::written() }));
    }
    Ok(())
}
