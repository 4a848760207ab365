//! Filters over the neighborhood of a pixel; border pixels are replicated outside the image.

/// The mean of the (2 r + 1) x (2 r + 1) pixels around each pixel.
pub(crate) fn box_mean(image: &[f32], (height, width): (usize, usize), r: usize) -> Vec<f32> {
    let along = |from: &dyn Fn(usize) -> f32, length: usize, out: &mut dyn FnMut(usize, f32)| {
        for at in 0..length {
            let sum: f32 = (0..=2 * r).map(|k| from((at + k).saturating_sub(r).min(length - 1))).sum();
            out(at, sum / (2 * r + 1) as f32);
        }
    };
    let mut rows = vec![0.0; image.len()];
    for y in 0..height {
        along(&|x| image[y * width + x], width, &mut |x, mean| rows[y * width + x] = mean);
    }
    let mut both = vec![0.0; image.len()];
    for x in 0..width {
        along(&|y| rows[y * width + x], height, &mut |y, mean| both[y * width + x] = mean);
    }
    both
}

/// Mask of the pixels whose 5 x 5 median exceeds their threshold, that is where 13 of the 25 values exceed it. Counting
/// needs no sorting.
pub(crate) fn median_exceeds(image: &[u8], thresholds: &[u8], (height, width): (usize, usize)) -> Vec<bool> {
    const R: usize = 2;
    const MAJORITY: u8 = 13;
    let wide = width + 2 * R;
    let mut padded = Vec::with_capacity((height + 2 * R) * wide);
    for y in 0..height + 2 * R {
        let row = &image[y.saturating_sub(R).min(height - 1) * width..][..width];
        padded.extend([row[0]; R]);
        padded.extend_from_slice(row);
        padded.extend([row[width - 1]; R]);
    }
    let mut out = vec![false; image.len()];
    let mut counts = vec![0u8; width];
    for y in 0..height {
        let limits = &thresholds[y * width..][..width];
        counts.fill(0);
        for down in 0..=2 * R {
            for across in 0..=2 * R {
                let shifted = &padded[(y + down) * wide + across..][..width];
                for ((count, x), limit) in counts.iter_mut().zip(shifted).zip(limits) {
                    *count += u8::from(x > limit);
                }
            }
        }
        out[y * width..][..width].iter_mut().zip(&counts).for_each(|(out, count)| *out = *count >= MAJORITY);
    }
    out
}

/// The dilation of a mask by one pixel, with diagonal neighbors.
pub(crate) fn dilate(mask: &[bool], (height, width): (usize, usize)) -> Vec<bool> {
    let mut rows = mask.to_vec();
    for (out, row) in rows.chunks_mut(width).zip(mask.chunks(width)) {
        for (out, inside) in out[1..].iter_mut().zip(row) {
            *out |= inside;
        }
        for (out, inside) in out.iter_mut().zip(&row[1..]) {
            *out |= inside;
        }
    }
    let mut both = rows.clone();
    for y in 0..height {
        for other in [y.wrapping_sub(1), y + 1].into_iter().filter(|&other| other < height) {
            let from = &rows[other * width..][..width];
            both[y * width..][..width].iter_mut().zip(from).for_each(|(out, inside)| *out |= inside);
        }
    }
    both
}

/// The connected regions of a mask, with diagonal neighbors, that contain a seed.
pub(crate) fn grown_from(seeds: &[bool], mask: &[bool], (height, width): (usize, usize)) -> Vec<bool> {
    let mut grown: Vec<bool> = seeds.iter().zip(mask).map(|(&seed, &inside)| seed && inside).collect();
    let mut open: Vec<usize> = (0..grown.len()).filter(|&at| grown[at]).collect();
    while let Some(at) = open.pop() {
        let (y, x) = (at / width, at % width);
        for v in y.saturating_sub(1)..(y + 2).min(height) {
            for u in x.saturating_sub(1)..(x + 2).min(width) {
                let next = v * width + u;
                if mask[next] && !grown[next] {
                    grown[next] = true;
                    open.push(next);
                }
            }
        }
    }
    grown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_is_the_median() {
        for size @ (height, width) in [(1, 1), (3, 4), (9, 17)] {
            let image: Vec<u8> = (0..height * width).map(|i| (i * 97 % 251) as u8).collect();
            let thresholds: Vec<u8> = (0..height * width).map(|i| (60 + i * 31 % 130) as u8).collect();
            let found = median_exceeds(&image, &thresholds, size);
            for y in 0..height {
                for x in 0..width {
                    let at = |dy: usize, dx: usize| {
                        let (v, u) =
                            ((y + dy).saturating_sub(2).min(height - 1), (x + dx).saturating_sub(2).min(width - 1));
                        image[v * width + u]
                    };
                    let mut around: Vec<u8> = (0..25).map(|i| at(i / 5, i % 5)).collect();
                    around.sort_unstable();
                    let i = y * width + x;
                    assert_eq!(found[i], around[12] > thresholds[i], "{y} {x}");
                }
            }
        }
    }

    #[test]
    fn regions_without_a_seed_are_dropped() {
        let read = |image: &str| image.bytes().map(|letter| letter != b'.').collect::<Vec<_>>();
        let mask = read("##..#.#....#...#...##");
        let seeds = read(".#.......#...........");
        // In rows of seven: two regions that touch at corners only, one without a seed, and a seed outside the mask.
        assert_eq!(grown_from(&seeds, &mask, (3, 7)), read("##..................."));
        assert_eq!(dilate(&read("....#...."), (3, 3)), [true; 9]);
        assert_eq!(dilate(&read("#............."), (2, 7)), read("##.....##....."));
        assert_eq!(dilate(&[true], (1, 1)), [true]);
        let corner = read("#...#...#");
        assert_eq!(grown_from(&read("#........"), &corner, (3, 3)), corner);
    }

    #[test]
    fn a_box_mean_keeps_constant_images_and_spreads_a_point() {
        assert_eq!(box_mean(&[4.0; 12], (3, 4), 3), vec![4.0; 12]);
        let mut point = vec![0.0; 81];
        point[40] = 49.0;
        let mean = box_mean(&point, (9, 9), 3);
        assert!((mean[40] - 1.0).abs() < 1e-6 && (mean[10] - 1.0).abs() < 1e-6 && mean[0] == 0.0);
    }
}
