//! Dates as text, without a calendar library for one function.

const MICROS_PER_DAY: u64 = 24 * 3600 * 1_000_000;

/// Days from 0000-03-01 to 1970-01-01. Years are counted from March, so that the leap day is the last.
const DAYS_TO_EPOCH: u64 = 719_468;

/// Days in 400 years, after which the calendar repeats.
const DAYS_PER_ERA: u64 = 146_097;

/// Milliseconds since the Unix epoch as `2026-03-01T12:00:00.000000+00:00`.
pub(super) fn iso_8601(ms: f64) -> String {
    // A float becomes the nearest integer there is; a time before 1970 becomes 1970.
    let all_micros = (ms * 1000.0).round() as u64;
    let (year, month, day) = date(all_micros / MICROS_PER_DAY);
    let of_day = all_micros % MICROS_PER_DAY;
    let seconds = of_day / 1_000_000;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let micros = of_day % 1_000_000;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}+00:00")
}

fn date(days_since_epoch: u64) -> (u64, u64, u64) {
    let days = days_since_epoch + DAYS_TO_EPOCH;
    let (era, of_era) = (days / DAYS_PER_ERA, days % DAYS_PER_ERA);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (400 * era + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_around_leap_days_and_centuries() {
        for (ms, text) in [
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
