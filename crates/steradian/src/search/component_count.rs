//! The number of components of a sample with bad rows, bad cells and missing cells: eigenvalues of its repaired rows against those with
//! random signs of the cells.
//!
//! Signs keep the noise and destroy what features have in common (Hong, Sheng and Dobriban 2020); components that stand out are taken out
//! before the next is tested (Dobriban and Owen 2019).

use rand_chacha::rand_core::Rng;

use super::candidate::{SearchOptions, search};
use super::leading::leading;
use super::majority;
use super::mcd::kept_by_mcd;
use super::outlyingness::centered_rows;
use crate::cellwise::vectors::row_products;
use crate::cellwise::{CellState, FeatureStats, RowStep, RowWork};
use crate::error::Result;
use crate::numeric::linalg::Matrix;
use crate::numeric::random::{Stream, generator};

/// Largest number that is found.
const MOST: usize = 10;
/// Draws of signs, and the ratio to the largest of their eigenvalues that an eigenvalue must exceed.
const DRAWS: usize = 5;
const MARGIN: f64 = 1.4;

/// The number of components and the reason for it.
pub(crate) fn count_components(
    table: &Matrix,
    stats: &FeatureStats,
    options: SearchOptions,
) -> Result<(usize, String)> {
    let (n, features) = (table.rows(), table.columns());
    let most = MOST.min(features / 3).min(majority(n, 1) / 5).max(1);
    let found = search(table, stats, SearchOptions { d: most, ..options })?;
    let mut kept = found.kept.clone();
    if most > 1 {
        let near = kept_by_mcd(&found.scores, majority(n, most), options.seed);
        kept.iter_mut().zip(near).for_each(|(kept, near)| *kept &= near);
    }
    let model = &found.model;
    let step = RowStep::new(model);
    let mut repaired = table.clone();
    let mut work = RowWork::new(features);
    let mut scores = vec![0.0; most];
    for i in 0..n {
        let states: &[CellState] = &found.cells[i * features..(i + 1) * features];
        step.run_with_states(table.row(i), states, &mut work, &mut scores);
        step.repair(&work, &scores, repaired.row_mut(i));
    }
    let members: Vec<usize> = (0..n).filter(|&i| kept[i]).collect();
    let mut rows = centered_rows(&repaired, &members);
    let mut signs = generator(options.seed, Stream::CellSigns);
    let mut count = 0;
    let (value, level) = loop {
        let own = leading(&rows, 1, None)?;
        let mut level = 0.0f64;
        for _ in 0..DRAWS {
            let mut flipped = rows.clone();
            for cells in flipped.data_mut().chunks_mut(64) {
                let mut bits = signs.next_u64();
                for x in cells {
                    *x = if bits & 1 == 1 { -*x } else { *x };
                    bits >>= 1;
                }
            }
            level = level.max(leading(&flipped, 1, None)?.values[0]);
        }
        if own.values[0] <= MARGIN * level || count == most {
            break (own.values[0], level);
        }
        count += 1;
        let component = own.vectors.transposed();
        for row in rows.data_mut().chunks_exact_mut(features) {
            let mut along = [0.0];
            row_products(row, &component, &mut along);
            row.iter_mut().zip(component.row(0)).for_each(|(x, q)| *x -= along[0] * q);
        }
    };
    let total = members.len().max(1) as f64;
    let (value, level) = (value / total, level / total);
    let reason = match count {
        0 => {
            format!("no eigenvalue exceeds that of noise (largest {value:.4e}, noise {level:.4e}); 1 component is used")
        }
        _ if count == most => {
            format!("the eigenvalues of {count} components, the most that are tried, exceed that of noise")
        }
        _ => format!(
            "the eigenvalues of {count} components exceed that of noise; the next is {value:.4e}, noise {level:.4e}"
        ),
    };
    Ok((count.max(1), reason))
}
