//! Conversion of options to a configuration: the preset of a method, then the options given.

use steradian::{Center, Config, Error, PivotSearch, Result, Screen};
use steradian_baselines::{TGA, TRIM, preset};

use crate::args::{CenterChoice, ConeOptions, FitOptions, FrameOptions, TableArgs};

impl FitOptions {
    /// The configuration that was asked for; reads the center when it is a file.
    pub fn config(&self) -> Result<Config> {
        let mut config = preset(self.method, self.components);
        match &self.center {
            None => {}
            Some(CenterChoice::Named(center)) => config.center = center.clone(),
            Some(CenterChoice::File(path)) => config.center = Center::Given(steradian_io::read_vector(path)?),
        }
        self.cone.adjust(self.method.name(), &mut config.screen)?;
        match (&mut config.screen, self.exact) {
            (_, false) => {}
            (Screen::Cone(cone), true) => cone.counting = PivotSearch::Exact,
            (_, true) => return Err(without_cone("--exact", self.method.name())),
        }
        match (&mut config.screen, self.directions) {
            (_, None) => {}
            (Screen::Outlyingness(screen), Some(directions)) => screen.directions = directions,
            (_, Some(_)) => {
                return Err(Error::invalid_argument(format!(
                    "--directions is about outlyingness, which --method {} does not look at; use --method robust or leave \
                     --directions out",
                    self.method.name()
                )));
            }
        }
        config.scaling = self.scale;
        config.robust_scores = self.robust_scores;
        config.solver = self.solver;
        config.tolerance = self.tol.unwrap_or(config.tolerance);
        match (self.method, self.trim) {
            (_, None) => {}
            (TGA, Some(trim)) => drop(config.other.insert(TRIM.to_owned(), trim)),
            (_, Some(_)) => {
                return Err(Error::invalid_argument(format!(
                    "--trim is about trimmed averages, which --method {} does not take; use --method tga or leave --trim out",
                    self.method.name()
                )));
            }
        }
        config.seed = self.seed;
        config.memory_limit = self.memory;
        Ok(config)
    }
}

impl ConeOptions {
    /// Puts what was asked into the cone of a method; refuses where there is none.
    pub fn adjust(&self, method: &str, screen: &mut Screen) -> Result<()> {
        let asked = [
            ("--angle", self.angle.is_some()),
            ("--cosine", self.cosine.is_some()),
            ("--ties", self.ties.is_some()),
            ("--recenter", self.recenter),
        ];
        match (screen, asked.iter().find(|(_, given)| *given)) {
            (Screen::Cone(cone), _) => {
                cone.angle = self.angle.unwrap_or(cone.angle);
                cone.cosine = self.cosine.unwrap_or(cone.cosine);
                cone.ties = self.ties.unwrap_or(cone.ties);
                cone.recenter |= self.recenter;
                Ok(())
            }
            (_, Some((option, _))) => Err(without_cone(option, method)),
            (_, None) => Ok(()),
        }
    }
}

/// The rejection of an option of the cone.
fn without_cone(option: &str, method: &str) -> Error {
    Error::invalid_argument(format!(
        "{option} is about the cone, which --method {method} does not have; use --method tae or leave {option} out"
    ))
}

impl FrameOptions {
    /// The same for the reader.
    pub fn options(&self) -> steradian_io::ClipOptions {
        steradian_io::ClipOptions {
            from: self.from,
            to: self.to,
            every: self.every,
            scale: self.scale,
            color: self.color,
        }
    }
}

impl TableArgs {
    /// The same for the reader.
    pub fn options(&self) -> steradian_io::TableOptions {
        steradian_io::TableOptions {
            columns: self.columns.clone(),
            row_names: self.row_names,
            missing: self.missing,
            header: None,
        }
    }
}
