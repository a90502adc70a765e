//! Order statistics.

/// Lowest, lower quartile, median, upper quartile.
pub fn quartiles(figures: &[f64]) -> [f64; 4] {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    [0, 1, 2, 3].map(|quarter| sorted[(sorted.len() - 1) * quarter / 4])
}
