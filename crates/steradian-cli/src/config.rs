//! Conversion of options to a configuration: the preset of the method, overridden by the given options.

use steradian::config::{Missing, PivotSearch, Screen};
use steradian::{Center, Config, Error, Result};
use steradian_baselines::{TGA, TRIM, preset};
use steradian_io::{ClipLimits, MissingRule};

use crate::args::{CenterChoice, ConeOptions, DecodingArgs, FitOptions, FrameOptions, MissingArgs, TableArgs};

impl FitOptions {
    /// The configuration of the fit; reads the center if it is a file.
    pub fn config(&self) -> Result<Config> {
        let preset = preset(self.method, self.n_components);
        let mut screen = preset.screen().clone();
        self.cone.adjust(self.method.name(), &mut screen)?;
        match (&mut screen, self.exact) {
            (_, false) => {}
            (Screen::Cone(cone), true) => cone.pivot_search = PivotSearch::Exact,
            (_, true) => return Err(not_of_method("--exact", "--method tae", self.method.name())),
        }
        match (&mut screen, self.n_directions) {
            (_, None) => {}
            (Screen::Outlyingness(screen), Some(n_directions)) => screen.n_directions = n_directions,
            (_, Some(_)) => {
                return Err(not_of_method("--n-directions", "--method robust, cells and rows", self.method.name()));
            }
        }
        let center = match &self.center {
            None => preset.center().clone(),
            Some(CenterChoice::Named(center)) => center.clone(),
            Some(CenterChoice::File(path)) => Center::Given(steradian_io::read_vector(path)?),
        };
        let tolerance = self.tol.unwrap_or(preset.tolerance());
        let config = preset
            .with_screen(screen)
            .with_center(center)
            .with_scaling(self.scaling)
            .with_order(self.order)
            .with_skew(self.skew)
            .with_robust_scores(self.robust_scores)
            .with_solver(self.solver)
            .with_tolerance(tolerance)
            .with_seed(self.seed)
            .with_memory_limit(self.memory);
        match (self.method, self.trim) {
            (_, None) => Ok(config),
            (TGA, Some(trim)) => Ok(config.with_parameter(TRIM, trim)),
            (_, Some(_)) => Err(not_of_method("--trim", "--method tga", self.method.name())),
        }
    }
}

impl ConeOptions {
    /// Overrides the cone of a method.
    ///
    /// # Errors
    ///
    /// An option of the cone is given and the method has no cone.
    pub fn adjust(&self, method: &str, screen: &mut Screen) -> Result<()> {
        let given = [
            ("--max-angle", self.max_angle.is_some()),
            ("--cosine", self.cosine.is_some()),
            ("--ties", self.ties.is_some()),
            ("--recenter", self.recenter),
        ];
        match (screen, given.iter().find(|(_, is_given)| *is_given)) {
            (Screen::Cone(cone), _) => {
                cone.max_angle = self.max_angle.unwrap_or(cone.max_angle);
                cone.cosine = self.cosine.unwrap_or(cone.cosine);
                cone.ties = self.ties.unwrap_or(cone.ties);
                cone.recenter |= self.recenter;
                Ok(())
            }
            (_, Some((option, _))) => Err(not_of_method(option, "--method tae", method)),
            (_, None) => Ok(()),
        }
    }
}

/// The rejection of an option that the method does not have.
pub fn not_of_method(option: &str, methods: &str, method: &str) -> Error {
    Error::invalid_argument(format!("{option} applies only to {methods}, not to --method {method}"))
}

impl FrameOptions {
    /// Converts the frame options to [`ClipOptions`](steradian_io::ClipOptions).
    pub fn options(&self, decoding: &DecodingArgs) -> steradian_io::ClipOptions {
        steradian_io::ClipOptions {
            start: self.start,
            end: self.end,
            stride: self.stride,
            resize: self.resize,
            color: self.color,
            limits: decoding.limits(),
        }
    }
}

impl DecodingArgs {
    /// Converts the limit to [`ClipLimits`].
    pub fn limits(&self) -> ClipLimits {
        ClipLimits { max_decoded: self.max_decoded, ..ClipLimits::default() }
    }
}

impl MissingArgs {
    /// The rule for data, where `preferred` is the treatment that the method or the model prefers.
    pub fn rule(&self, preferred: Missing) -> MissingRule {
        self.missing.unwrap_or(match preferred {
            Missing::Use => MissingRule::Use,
            Missing::Error => MissingRule::Error,
        })
    }

    /// The configuration with the given rule, and the rule.
    pub fn applied_to(&self, config: Config) -> (Config, MissingRule) {
        let rule = self.rule(config.missing());
        let missing = if rule == MissingRule::Use { Missing::Use } else { Missing::Error };
        (config.with_missing(missing), rule)
    }
}

impl TableArgs {
    /// Converts the table options to [`TableOptions`](steradian_io::TableOptions).
    pub fn options(&self, missing: MissingRule) -> steradian_io::TableOptions {
        steradian_io::TableOptions {
            columns: self.columns.clone(),
            row_names: self.row_names,
            missing,
            header: self.header,
        }
    }
}
