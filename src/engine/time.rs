//! The `TIME_*` variables, computed from a number of microseconds: the engine has no clock. All in UTC.

use crate::vocab::variables::Variable;

const DAY: i64 = 86_400;

/// The text of a `TIME…` variable.
pub(crate) fn text(variable: Variable, now_micros: i64) -> String {
    let seconds = now_micros.div_euclid(1_000_000);
    let (days, of_day) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let (year, month, day) = civil(days);
    match variable {
        Variable::Time => format!("{hour:02}:{minute:02}:{second:02}"),
        Variable::TimeEpoch => seconds.to_string(),
        Variable::TimeHour => hour.to_string(),
        Variable::TimeMin => minute.to_string(),
        Variable::TimeSec => second.to_string(),
        Variable::TimeDay => day.to_string(),
        // ModSecurity counts months and weekdays as C does: January and Sunday are 0.
        Variable::TimeMon => (month - 1).to_string(),
        Variable::TimeWday => (days + 4).rem_euclid(7).to_string(),
        Variable::TimeYear => year.to_string(),
        _ => String::new(),
    }
}

/// Year, month (1-12) and day of a number of days since 1970-01-01, in the proleptic Gregorian calendar: years start in
/// March, so that the leap day is the last of its year, and 400 years are one cycle of 146,097 days.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (cycle, of_cycle) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_cycle = (of_cycle - of_cycle / 1460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
    let of_year = of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_cycle + cycle * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_civil() {
        for (days, date) in [(0, (1970, 1, 1)), (19_782, (2024, 2, 29)), (20_787, (2026, 11, 30)), (-1, (1969, 12, 31))]
        {
            assert_eq!(civil(days), date);
        }
    }

    #[test]
    fn the_first_second_was_a_thursday() {
        assert_eq!(text(Variable::TimeWday, 0), "4");
        assert_eq!(text(Variable::Time, 3_661_000_000), "01:01:01");
    }
}
