//! Axes of a plot: linear or logarithmic, with ticks at round numbers.

/// Ratio of largest to smallest value above which an axis is logarithmic.
const LOGARITHMIC_RATIO: f64 = 1e3;
/// Ratio of the end of an axis to the largest value.
const MARGIN: f64 = 1.06;
/// Largest margin of a logarithmic axis, in decades.
const MAX_MARGIN_DECADES: f64 = 0.3;
/// Largest number of ticks of a linear axis.
const MAX_TICKS: f64 = 9.0;
/// Largest number of labeled decades of a logarithmic axis.
const MAX_DECADES: i32 = 7;

/// The shortest axis, which is that of zeros in practice.
const SMALLEST_RANGE: f64 = 1e-290;

/// Largest distance of labeled decades at which the decades in between have ticks.
const MAX_UNLABELED: i32 = 5;

/// Map from values >= 0 to positions from 0 to 1 along the axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
}

/// A tick of an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Position along the axis, from 0 to 1.
    pub position: f64,
    /// Label; minor ticks have none.
    pub label: Option<String>,
}

impl Axis {
    /// An axis for finite values and a cutoff, which may be NaN.
    pub fn new(values: impl Iterator<Item = f64>, cutoff: f64) -> Self {
        let mut positive: Vec<f64> = values.filter(|&value| value > 0.0).collect();
        positive.extend(Some(cutoff).filter(|cutoff| cutoff.is_finite() && *cutoff > 0.0));
        if positive.is_empty() {
            return Self { low: 0.0, high: 1.0, logarithmic: false };
        }
        positive.sort_by(f64::total_cmp);
        // Below this, the distance of ticks is no number of full precision.
        let largest = positive[positive.len() - 1].max(SMALLEST_RANGE);
        // A few values close to zero do not make the axis logarithmic.
        let small = positive[positive.len() / 20];
        if largest / small <= LOGARITHMIC_RATIO {
            return Self { low: 0.0, high: (largest * MARGIN).min(f64::MAX), logarithmic: false };
        }
        let low = positive[0].max(small / 10.0);
        // In logarithms, where the ratio of the largest to the smallest value cannot overflow.
        let margin = ((MARGIN - 1.0) * (largest.log10() - low.log10())).min(MAX_MARGIN_DECADES);
        let (low, high) = (10f64.powf(low.log10() - margin), 10f64.powf(largest.log10() + margin));
        Self { low: low.max(f64::MIN_POSITIVE), high: high.min(f64::MAX), logarithmic: true }
    }

    /// Position of a value, from 0 to 1; values below the axis are at 0.
    pub fn position(&self, value: f64) -> f64 {
        let position = match self.logarithmic {
            true => (value.max(self.low).ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
            false => value / self.high,
        };
        position.clamp(0.0, 1.0)
    }

    /// True if the axis is logarithmic.
    pub fn is_logarithmic(&self) -> bool {
        self.logarithmic
    }

    /// The ticks, from low to high.
    pub fn ticks(&self) -> Vec<Tick> {
        if self.logarithmic { self.decades() } else { self.steps() }
    }

    fn steps(&self) -> Vec<Tick> {
        let step = round_step(self.high / MAX_TICKS);
        let count = (self.high / step).floor().min(2.0 * MAX_TICKS) as i32;
        let tick = |i: i32| {
            let value = f64::from(i) * step;
            Tick { position: self.position(value), label: Some(plain(value, step)) }
        };
        (0..=count).map(tick).collect()
    }

    fn decades(&self) -> Vec<Tick> {
        let (first, last) = (self.low.log10().ceil() as i32, self.high.log10().floor() as i32);
        let every = (last - first) / MAX_DECADES + 1;
        let mut ticks = Vec::new();
        for power in first - 1..=last {
            let decade = 10f64.powi(power);
            if power >= first {
                let label = ((power - first) % every == 0).then(|| power_of_ten(power));
                if label.is_some() || every <= MAX_UNLABELED {
                    ticks.push(Tick { position: self.position(decade), label });
                }
            }
            let between = (2..10).map(|digit| f64::from(digit) * decade);
            let between = between.filter(|value| every == 1 && (self.low..=self.high).contains(value));
            ticks.extend(between.map(|value| Tick { position: self.position(value), label: None }));
        }
        ticks
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power).into_iter().find(|&step| step >= least * 0.999).unwrap_or(power)
}

/// The label of a tick, with the decimals of its step.
fn plain(value: f64, step: f64) -> String {
    let power = step.log10().floor() as i32;
    match power {
        _ if value == 0.0 => "0".to_string(),
        -4..=4 => format!("{value:.0$}", (-power).max(0) as usize),
        _ => {
            // Digits below the step are rounding errors.
            let digits = (value / step).log10().floor().max(0.0) as usize + 1;
            let text = format!("{value:.digits$e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let digits = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
            format!("{digits}e{exponent}")
        }
    }
}

/// A power of ten in plain or superscript form.
fn power_of_ten(power: i32) -> String {
    const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    match power {
        -2..=3 => format!("{}", 10f64.powi(power)),
        _ => {
            let sign = if power < 0 { "⁻" } else { "" };
            let digits = power.unsigned_abs().to_string();
            let exponent: String = digits.bytes().map(|digit| SUPERSCRIPTS[usize::from(digit - b'0')]).collect();
            format!("10{sign}{exponent}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().filter_map(|tick| tick.label).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_start_at_zero() {
        let axis = |largest| Axis::new([1.0f64, largest].into_iter(), f64::NAN);
        assert_eq!(labels(&axis(4.6)), ["0", "1", "2", "3", "4"]);
        assert_eq!(labels(&axis(1.0)), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&axis(430.0)), ["0", "100", "200", "300", "400"]);
        let tiny = Axis::new([2e-8, 4.1e-7].into_iter(), f64::NAN);
        assert_eq!(labels(&tiny), ["0", "5e-8", "1e-7", "1.5e-7", "2e-7", "2.5e-7", "3e-7", "3.5e-7", "4e-7"]);
        let huge = Axis::new([2e8, 1.3e9].into_iter(), f64::NAN);
        assert_eq!(labels(&huge), ["0", "2e8", "4e8", "6e8", "8e8", "1e9", "1.2e9"]);
    }

    #[test]
    fn more_than_three_decades_are_logarithmic() {
        let spread = |powers: std::ops::RangeInclusive<i32>| Axis::new(powers.map(|p| 10f64.powi(p)), f64::NAN);
        assert!(!spread(0..=3).is_logarithmic());
        let axis = spread(0..=4);
        assert!(axis.is_logarithmic());
        assert_eq!(labels(&axis), ["1", "10", "100", "1000", "10⁴"]);
        let wide = labels(&spread(-6..=12));
        assert!(wide.len() <= 8 && wide[0] == "10⁻⁶", "{wide:?}");
        assert_eq!(axis.position(0.0), 0.0);
        assert!(axis.position(1e4) < 1.0 && axis.position(1.0) > 0.0);
        // One value close to zero among many does not make the axis logarithmic.
        let values = (1..100).map(f64::from).chain([1e-9]);
        assert!(!Axis::new(values, f64::NAN).is_logarithmic());
    }

    #[test]
    fn axes_are_bounded_whatever_the_numbers_are() {
        let smallest = f64::from_bits(1);
        let numbers = [smallest, 1e-320, f64::MIN_POSITIVE, 1e-300, 1e-30, 1.0, 1e30, 1e300, f64::MAX];
        for low in numbers {
            for high in numbers {
                for cutoff in numbers.into_iter().chain([f64::NAN, f64::INFINITY, 0.0, -1.0]) {
                    let axis = Axis::new([low, high].into_iter(), cutoff);
                    let ticks = axis.ticks();
                    assert!(ticks.len() <= 100, "{low} {high} {cutoff}: {} ticks", ticks.len());
                    assert!(ticks.iter().all(|tick| (0.0..=1.0).contains(&tick.position)), "{low} {high} {cutoff}");
                    assert!(numbers.iter().all(|x| (0.0..=1.0).contains(&axis.position(*x))), "{low} {high} {cutoff}");
                }
            }
        }
    }

    #[test]
    fn few_values() {
        assert_eq!(labels(&Axis::new([].into_iter(), f64::NAN)).len(), 6);
        assert_eq!(labels(&Axis::new([0.0].into_iter(), f64::NAN)).first().map(String::as_str), Some("0"));
        let axis = Axis::new([0.0].into_iter(), 3.0);
        assert!(axis.position(3.0) < 1.0);
        for axis in [Axis::new([1e-300].into_iter(), f64::NAN), Axis::new([1e-300, 1e300].into_iter(), 2.0)] {
            assert!(axis.ticks().iter().all(|tick| (0.0..=1.0).contains(&tick.position)));
            assert!(axis.ticks().len() < 50);
        }
    }
}
