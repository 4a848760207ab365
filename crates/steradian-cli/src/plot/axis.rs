//! Axes: from a quantity to a place, with ticks at round numbers.

/// Values that span more than this factor are shown on a logarithmic axis.
const WIDE: f64 = 1e3;
/// Room beyond the largest value.
const ROOM: f64 = 1.06;
/// Decades of such room at most.
const MOST_ROOM: f64 = 0.3;
/// Ticks of a linear axis at most.
const TICKS: f64 = 9.0;
/// Named decades of a logarithmic axis at most.
const MOST_DECADES: i32 = 7;

/// Decades between two named ones that are still marked.
const MOST_UNNAMED: i32 = 5;

/// From quantities at or above 0 to the share of an axis' length.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
}

/// A mark on an axis; small ones have no name.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// As a share of the axis.
    pub share: f64,
    /// What stands beside it.
    pub name: Option<String>,
}

impl Axis {
    /// For these quantities, all finite, and a cutoff, which may be not a number.
    pub fn new(values: impl Iterator<Item = f64>, cutoff: f64) -> Self {
        let mut positive: Vec<f64> = values.filter(|&value| value > 0.0).collect();
        positive.extend(Some(cutoff).filter(|cutoff| cutoff.is_finite() && *cutoff > 0.0));
        if positive.is_empty() {
            return Self { low: 0.0, high: 1.0, logarithmic: false };
        }
        positive.sort_by(f64::total_cmp);
        let largest = positive[positive.len() - 1];
        // A few samples next to zero are no reason for decades of empty paper.
        let small = positive[positive.len() / 20];
        if largest / small <= WIDE {
            return Self { low: 0.0, high: largest * ROOM, logarithmic: false };
        }
        let low = positive[0].max(small / 10.0);
        // In logarithms, where a ratio of the largest to the smallest number does not overflow.
        let room = ((ROOM - 1.0) * (largest.log10() - low.log10())).min(MOST_ROOM);
        let (low, high) = (10f64.powf(low.log10() - room), 10f64.powf(largest.log10() + room));
        Self { low: low.max(f64::MIN_POSITIVE), high: high.min(f64::MAX), logarithmic: true }
    }

    /// Where a quantity lies, from 0 to 1; what is below the axis is at its start.
    pub fn share(&self, value: f64) -> f64 {
        let share = match self.logarithmic {
            true => (value.max(self.low).ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
            false => value / self.high,
        };
        share.clamp(0.0, 1.0)
    }

    /// Whether equal ratios are equally far apart.
    pub fn is_logarithmic(&self) -> bool {
        self.logarithmic
    }

    /// Its ticks, from low to high.
    pub fn ticks(&self) -> Vec<Tick> {
        if self.logarithmic { self.decades() } else { self.steps() }
    }

    fn steps(&self) -> Vec<Tick> {
        let step = round_step(self.high / TICKS);
        let count = (self.high / step).floor() as i32;
        let tick = |i: i32| {
            let value = f64::from(i) * step;
            Tick { share: self.share(value), name: Some(plain(value, step)) }
        };
        (0..=count).map(tick).collect()
    }

    fn decades(&self) -> Vec<Tick> {
        let (first, last) = (self.low.log10().ceil() as i32, self.high.log10().floor() as i32);
        let every = (last - first) / MOST_DECADES + 1;
        let mut ticks = Vec::new();
        for power in first - 1..=last {
            let decade = 10f64.powi(power);
            if power >= first {
                let name = ((power - first) % every == 0).then(|| power_of_ten(power));
                if name.is_some() || every <= MOST_UNNAMED {
                    ticks.push(Tick { share: self.share(decade), name });
                }
            }
            let between = (2..10).map(|digit| f64::from(digit) * decade);
            let between = between.filter(|value| every == 1 && (self.low..=self.high).contains(value));
            ticks.extend(between.map(|value| Tick { share: self.share(value), name: None }));
        }
        ticks
    }
}

/// The next of 1, 2 and 5 times a power of ten.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power).into_iter().find(|&step| step >= least * 0.999).unwrap_or(power)
}

/// A tick's number with the decimals its step needs.
fn plain(value: f64, step: f64) -> String {
    let power = step.log10().floor() as i32;
    match power {
        _ if value == 0.0 => "0".to_string(),
        -4..=4 => format!("{value:.0$}", (-power).max(0) as usize),
        _ => {
            // Digits below the step are rounding.
            let digits = (value / step).log10().floor().max(0.0) as usize + 1;
            let text = format!("{value:.digits$e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let digits = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
            format!("{digits}e{exponent}")
        }
    }
}

fn power_of_ten(power: i32) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    match power {
        -2..=3 => format!("{}", 10f64.powi(power)),
        _ => {
            let sign = if power < 0 { "⁻" } else { "" };
            let digits = power.unsigned_abs().to_string();
            let raised: String = digits.bytes().map(|digit| RAISED[usize::from(digit - b'0')]).collect();
            format!("10{sign}{raised}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().filter_map(|tick| tick.name).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_begin_at_zero() {
        let axis = |largest| Axis::new([1.0f64, largest].into_iter(), f64::NAN);
        assert_eq!(names(&axis(4.6)), ["0", "1", "2", "3", "4"]);
        assert_eq!(names(&axis(1.0)), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(names(&axis(430.0)), ["0", "100", "200", "300", "400"]);
        let tiny = Axis::new([2e-8, 4.1e-7].into_iter(), f64::NAN);
        assert_eq!(names(&tiny), ["0", "5e-8", "1e-7", "1.5e-7", "2e-7", "2.5e-7", "3e-7", "3.5e-7", "4e-7"]);
        let huge = Axis::new([2e8, 1.3e9].into_iter(), f64::NAN);
        assert_eq!(names(&huge), ["0", "2e8", "4e8", "6e8", "8e8", "1e9", "1.2e9"]);
    }

    #[test]
    fn more_than_three_decades_are_logarithmic() {
        let spread = |powers: std::ops::RangeInclusive<i32>| Axis::new(powers.map(|p| 10f64.powi(p)), f64::NAN);
        assert!(!spread(0..=3).is_logarithmic());
        let axis = spread(0..=4);
        assert!(axis.is_logarithmic());
        assert_eq!(names(&axis), ["1", "10", "100", "1000", "10⁴"]);
        let wide = names(&spread(-6..=12));
        assert!(wide.len() <= 8 && wide[0] == "10⁻⁶", "{wide:?}");
        assert_eq!(axis.share(0.0), 0.0);
        assert!(axis.share(1e4) < 1.0 && axis.share(1.0) > 0.0);
        // One value next to zero among many does not ask for it.
        let values = (1..100).map(f64::from).chain([1e-9]);
        assert!(!Axis::new(values, f64::NAN).is_logarithmic());
    }

    #[test]
    fn hardly_any_values() {
        assert_eq!(names(&Axis::new([].into_iter(), f64::NAN)).len(), 6);
        assert_eq!(names(&Axis::new([0.0].into_iter(), f64::NAN)).first().map(String::as_str), Some("0"));
        let axis = Axis::new([0.0].into_iter(), 3.0);
        assert!(axis.share(3.0) < 1.0);
        for axis in [Axis::new([1e-300].into_iter(), f64::NAN), Axis::new([1e-300, 1e300].into_iter(), 2.0)] {
            assert!(axis.ticks().iter().all(|tick| (0.0..=1.0).contains(&tick.share)));
            assert!(axis.ticks().len() < 50);
        }
    }
}
