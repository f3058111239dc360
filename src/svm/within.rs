//! Which of many numbers are within a reach that depends on a small table, with eight of them looked at together.

/// Entries of a table of reaches.
pub const TABLE: usize = 16;

/// What is found is written so many at a time.
pub const MORE: usize = 8;

/// What marks a number that is of interest in any case, if those are asked for.
pub const FLAG: u8 = 0x80;

/// Finds the i with room_i ≤ reach[seen_i], and all that are flagged if they are asked for, ascending, and tells how many there
/// are; without the flag every seen_i is below [`TABLE`]. There is room for all i and [`MORE`] more.
pub fn find_within<const FLAGGED: bool>(
    room: &[f32],
    seen: &[u8],
    reach: &[f32; TABLE],
    found: &mut [usize],
) -> usize {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[expect(unsafe_code, reason = "the processor was asked whether it has AVX2")]
        return unsafe { avx2::find_within::<FLAGGED>(room, seen, reach, found) };
    }
    plain::find_within::<FLAGGED>(room, seen, reach, 0, found, 0)
}

mod plain {
    use super::{FLAG, TABLE};

    /// As [`super::find_within`], from an i on, when some are found already; tells how many are then.
    #[inline(always)]
    pub fn find_within<const FLAGGED: bool>(
        room: &[f32],
        seen: &[u8],
        reach: &[f32; TABLE],
        start: usize,
        found: &mut [usize],
        mut count: usize,
    ) -> usize {
        // Every i is written down and kept or not: a branch here would be guessed wrongly too often.
        for (i, (room, &seen)) in room.iter().zip(seen).enumerate().skip(start) {
            found[count] = i;
            let is_flagged = FLAGGED && seen & FLAG != 0;
            count += usize::from((*room <= reach[usize::from(seen) % TABLE]) | is_flagged);
        }
        count
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256, _CMP_LE_OQ, _mm_cvtsi32_si128, _mm_cvtsi64_si128, _mm256_add_epi64, _mm256_blendv_ps,
        _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_cvtepu8_epi32, _mm256_cvtepu8_epi64, _mm256_loadu_ps,
        _mm256_movemask_ps, _mm256_permutevar8x32_ps, _mm256_set1_epi64x, _mm256_slli_epi32,
        _mm256_storeu_si256,
    };

    use super::TABLE;

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

    /// As the plain one, from the start.
    #[target_feature(enable = "avx2,popcnt")]
    pub fn find_within<const FLAGGED: bool>(
        room: &[f32],
        seen: &[u8],
        reach: &[f32; TABLE],
        found: &mut [usize],
    ) -> usize {
        let (room_blocks, _) = room.as_chunks::<8>();
        let (seen_blocks, _) = seen.as_chunks::<8>();
        let (low, high) = reach.split_at(TABLE / 2);
        let (low, high) = (load_single(low), load_single(high));
        let mut count = 0;
        for (block, (room, seen)) in room_blocks.iter().zip(seen_blocks).enumerate() {
            let seen = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(i64::from_le_bytes(*seen)));
            let (low, high) = (_mm256_permutevar8x32_ps(low, seen), _mm256_permutevar8x32_ps(high, seen));
            // Bit 3 tells which half of the table is meant.
            let reach = _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32::<28>(seen)));
            let mut within = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(load_single(room), reach));
            if FLAGGED {
                within |= _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32::<24>(seen)));
            }
            let places = &SET_BITS[within as usize % 256];
            let start = _mm256_set1_epi64x(8 * block as i64);
            let Some(target) = found[count..].first_chunk_mut::<8>() else { break };
            for half in 0..2 {
                let four =
                    [places[4 * half], places[4 * half + 1], places[4 * half + 2], places[4 * half + 3]];
                let four = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(i32::from_le_bytes(four)));
                #[expect(unsafe_code, reason = "there is room for the eight")]
                unsafe {
                    _mm256_storeu_si256(
                        target.as_mut_ptr().add(4 * half).cast(),
                        _mm256_add_epi64(start, four),
                    );
                }
            }
            count += within.count_ones() as usize;
        }
        super::plain::find_within::<FLAGGED>(room, seen, reach, 8 * room_blocks.len(), found, count)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load_single(from: &[f32]) -> __m256 {
        let from: &[f32; 8] = from.first_chunk().expect("eight to be read");
        #[expect(unsafe_code, reason = "there are eight to be read")]
        unsafe {
            _mm256_loadu_ps(from.as_ptr())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_within_reach() {
        let reach: [f32; TABLE] = std::array::from_fn(|mark| mark as f32);
        for length in 0..50 {
            let seen: Vec<u8> = (0..length).map(|i| (i * 7 % 16) as u8).collect();
            let mut room: Vec<f32> = (0..length).map(|i| (i * 5 % 17) as f32).collect();
            if let Some(room) = room.get_mut(9) {
                *room = f32::NAN;
            }
            let expected: Vec<usize> =
                (0..length).filter(|&i| room[i] <= reach[usize::from(seen[i])]).collect();
            let mut found = vec![0; length + MORE];
            let count = find_within::<false>(&room, &seen, &reach, &mut found);
            assert_eq!(found[..count], expected);
            let count = plain::find_within::<false>(&room, &seen, &reach, 0, &mut found, 0);
            assert_eq!(found[..count], expected);
            let flagged: Vec<u8> = (0..length).map(|i| seen[i] | if i % 3 == 0 { FLAG } else { 0 }).collect();
            let expected: Vec<usize> =
                (0..length).filter(|&i| room[i] <= reach[usize::from(seen[i])] || i % 3 == 0).collect();
            let count = find_within::<true>(&room, &flagged, &reach, &mut found);
            assert_eq!(found[..count], expected);
            let count = plain::find_within::<true>(&room, &flagged, &reach, 0, &mut found, 0);
            assert_eq!(found[..count], expected);
        }
    }
}
