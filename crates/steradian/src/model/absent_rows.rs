//! A model of some rows as a model of all rows, of which the others took no part in the fit.

use super::Model;
use crate::config::screen::Screen;
use crate::memory;

impl Model {
    /// The model of data with this many samples, of which only `rows`, in ascending order, were fitted: its support, its pivot
    /// and tau refer to all samples, and samples that were not fitted are not in the support.
    #[must_use]
    pub fn among(mut self, rows: &[usize], samples: usize) -> Self {
        let fitted = self.shape.samples;
        assert!(rows.len() == fitted && rows.last().is_none_or(|last| *last < samples), "one index per fitted sample");
        let mut support = memory::filled(samples, false);
        rows.iter().zip(&self.report.support).for_each(|(row, own)| support[*row] = *own);
        self.report.support = support;
        if let Some(cone) = &mut self.report.cone {
            let inactive = samples as i64 + 1;
            let mut tau = memory::filled(samples, inactive);
            for (row, own) in rows.iter().zip(&cone.tau) {
                tau[*row] = if *own == fitted as i64 + 1 { inactive } else { *own };
            }
            cone.tau = tau;
            cone.pivot = rows[cone.pivot];
        }
        if let Screen::Outlyingness(screen) = &mut self.config.screen {
            for sample in screen.pairs.iter_mut().flatten().flatten() {
                *sample = rows[*sample];
            }
        }
        self.shape.samples = samples;
        self
    }
}
