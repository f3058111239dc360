//! Selects the rows whose slack is used up, eight at a time.

use crate::linalg::simd::{LANES, kernel};

/// Number of snapshots that a row can refer to.
pub const SNAPSHOTS: usize = 16;

/// Selected rows are written eight at a time, so that buffers are this much longer than the rows.
pub const PADDING: usize = 8;

/// Flag beside the number of a snapshot: the row had loss when it was last evaluated.
pub const HAS_LOSS: u8 = 0x80;

/// Where the bits of a byte are set, from the lowest on.
const SET_BITS: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut count) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte][count] = bit;
                count += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

/// Selects the rows i with slack_i ≤ displacement[last_snapshot_i], and on request all rows that
/// had loss, in ascending order; returns their number.
///
/// # Panics
/// If `found` is not [`PADDING`] longer than the rows.
pub fn select_within<const WITH_LOSS: bool>(
    slack: &[f32],
    last_snapshot: &[u8],
    displacement: &[f32; SNAPSHOTS],
    found: &mut [usize],
) -> usize {
    select(slack, last_snapshot, displacement, if WITH_LOSS { HAS_LOSS } else { 0 }, found)
}

kernel! {
    /// As [`select_within`]; rows with this flag are always selected.
    select(s; slack: &[f32], last_snapshot: &[u8], displacement: &[f32; SNAPSHOTS], flag: u8, found: &mut [usize]) -> usize {
        assert!(found.len() >= slack.len() + PADDING, "the buffer is too short for all rows");
        let (slack_blocks, slack_rest) = slack.as_chunks::<LANES>();
        let (snapshot_blocks, snapshot_rest) = last_snapshot.as_chunks::<LANES>();
        let mut count = 0;
        for (block, (slack, last_snapshot)) in slack_blocks.iter().zip(snapshot_blocks).enumerate() {
            let mut within = s.at_most_indexed(*slack, *displacement, *last_snapshot);
            if flag != 0 {
                let flagged = u64::from_le_bytes(*last_snapshot) & (u64::from(flag) * 0x0101_0101_0101_0101);
                // Moves bit 7 of each byte to the bit of its lane.
                within |= ((flagged >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8;
            }
            // Write all eight and advance past the selected ones: a branch would be mispredicted
            // too often. Arrays of fixed size, so that the eight are widened and stored as vectors.
            let target = found[count..].first_chunk_mut::<PADDING>().expect("the length is checked above");
            let lanes = &SET_BITS[usize::from(within)];
            for lane in 0..PADDING {
                target[lane] = LANES * block + usize::from(lanes[lane]);
            }
            count += within.count_ones() as usize;
        }
        for (i, (slack, &last_snapshot)) in (LANES * slack_blocks.len()..).zip(slack_rest.iter().zip(snapshot_rest)) {
            found[count] = i;
            count += usize::from(*slack <= displacement[usize::from(last_snapshot) % SNAPSHOTS] || last_snapshot & flag != 0);
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::simd::limited;

    /// No row is dropped silently, with and without vectors.
    #[test]
    fn too_little_slack_is_no_silence() {
        let slack = [0.0; 20];
        let last_snapshot = [0; 20];
        for bits in [128, 256] {
            for length in 0..20 + PADDING {
                let mut found = vec![0; length];
                let selection = || {
                    limited::to(bits, || {
                        select_within::<false>(
                            &slack,
                            &last_snapshot,
                            &[1.0; SNAPSHOTS],
                            &mut found,
                        )
                    })
                };
                assert!(
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(selection)).is_err(),
                    "{length}"
                );
            }
            let mut found = vec![0; 20 + PADDING];
            let count = limited::to(bits, || {
                select_within::<false>(&slack, &last_snapshot, &[1.0; SNAPSHOTS], &mut found)
            });
            assert_eq!(found[..count], (0..20).collect::<Vec<usize>>());
        }
    }

    #[test]
    fn selects_rows_whose_slack_is_used_up() {
        let displacement: [f32; SNAPSHOTS] = std::array::from_fn(|mark| mark as f32);
        for length in 0..50 {
            let last_snapshot: Vec<u8> = (0..length).map(|i| (i * 7 % 16) as u8).collect();
            let mut slack: Vec<f32> = (0..length).map(|i| (i * 5 % 17) as f32).collect();
            if let Some(slack) = slack.get_mut(9) {
                *slack = f32::NAN;
            }
            let expected: Vec<usize> = (0..length)
                .filter(|&i| slack[i] <= displacement[usize::from(last_snapshot[i])])
                .collect();
            let mut found = vec![0; length + PADDING];
            let count = select_within::<false>(&slack, &last_snapshot, &displacement, &mut found);
            assert_eq!(found[..count], expected);
            let count = limited::to(128, || {
                select_within::<false>(&slack, &last_snapshot, &displacement, &mut found)
            });
            assert_eq!(found[..count], expected);
            let flagged: Vec<u8> = (0..length)
                .map(|i| last_snapshot[i] | if i % 3 == 0 { HAS_LOSS } else { 0 })
                .collect();
            let expected: Vec<usize> = (0..length)
                .filter(|&i| slack[i] <= displacement[usize::from(last_snapshot[i])] || i % 3 == 0)
                .collect();
            let count = select_within::<true>(&slack, &flagged, &displacement, &mut found);
            assert_eq!(found[..count], expected);
            let count = limited::to(128, || {
                select_within::<true>(&slack, &flagged, &displacement, &mut found)
            });
            assert_eq!(found[..count], expected);
        }
    }
}
