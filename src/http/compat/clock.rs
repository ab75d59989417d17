//! Dates as text.

use time::{Duration, OffsetDateTime};

/// Milliseconds since the Unix epoch as `2026-03-01T12:00:00.000000+00:00`. A time before 1970
/// becomes 1970.
pub(super) fn iso_8601(ms: f64) -> String {
    let micros = (ms * 1000.0).round().max(0.0) as i64;
    let date = OffsetDateTime::UNIX_EPOCH.checked_add(Duration::microseconds(micros));
    // Years after 9999 only stand in a damaged notebook.
    let date = date.unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (year, month, day) = date.to_calendar_date();
    let (hour, minute, second, micro) = date.to_hms_micro();
    let month = u8::from(month);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micro:06}+00:00")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_around_leap_days_and_centuries() {
        for (ms, text) in [
            (-1.0, "1970-01-01T00:00:00.000000+00:00"),
            (0.0, "1970-01-01T00:00:00.000000+00:00"),
            (951_782_399_999.0, "2000-02-28T23:59:59.999000+00:00"),
            (951_782_400_000.0, "2000-02-29T00:00:00.000000+00:00"),
            (1_709_251_199_001.25, "2024-02-29T23:59:59.001250+00:00"),
            (1_767_225_600_000.0, "2026-01-01T00:00:00.000000+00:00"),
            (4_107_542_400_000.0, "2100-03-01T00:00:00.000000+00:00"),
        ] {
            assert_eq!(iso_8601(ms), text);
        }
    }
}
