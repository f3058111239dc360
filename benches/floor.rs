//! How far the two hottest loops are from what this machine can do: `cargo bench --bench floor`.
//!
//! Multiply-adds are counted as one, though they are two instructions: nothing is fused, so that
//! results are the same on every machine. Bytes are those that a loop must read or write at least,
//! once.

use std::hint::black_box;
use std::time::Instant;

use crfe::linalg::{PackedSymmetric, row_dots};

/// Each time is the least of so many.
const ROUNDS: usize = 15;

fn main() {
    let peak = multiply_adds_per_second();
    println!("registers: {:.1} G multiply-adds/s", peak / 1e9);
    let sizes = [
        ("nearest cache", 24 << 10),
        ("second cache", 300 << 10),
        ("last cache", 12 << 20),
        ("memory", 512 << 20),
    ];
    for (name, bytes) in sizes {
        println!("{name} ({} KiB): {:.1} GB/s read", bytes >> 10, bytes_per_second(bytes) / 1e9);
    }
    println!(
        "\n| loop | in, KiB | multiply-adds | bytes | µs | G multiply-adds/s | of the cores | GB/s | of reading as much |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (rows, width, looked_at) in [(637, 112, 192), (7500, 208, 1116)] {
        let loop_ = rows_times_a_vector(rows, width, looked_at);
        print(&format!("{looked_at} of {rows} rows of {width} times a vector"), &loop_, peak);
    }
    for size in [112, 208] {
        print(&format!("8 changes to a matrix of {size}"), &low_rank_change(size), peak);
    }
}

/// What a loop does, and how long it takes.
struct Timed {
    /// Bytes that it works in.
    inside: usize,
    multiply_adds: f64,
    bytes: f64,
    seconds: f64,
}

fn print(name: &str, timed: &Timed, peak: f64) {
    let Timed { inside, multiply_adds, bytes, seconds } = timed;
    let work = multiply_adds / seconds;
    let traffic = bytes / seconds;
    let reading = bytes_per_second(*inside);
    println!(
        "| {name} | {} | {multiply_adds:.0} | {bytes:.0} | {:.1} | {:.1} | {:.0} % | {:.1} | {:.0} % |",
        inside >> 10,
        1e6 * seconds,
        work / 1e9,
        100.0 * work / peak,
        traffic / 1e9,
        100.0 * traffic / reading
    );
}

/// The least time of a run, which is repeated for long enough to be measured.
fn least_seconds(mut run: impl FnMut()) -> f64 {
    let mut repeats = 1;
    loop {
        let mut least = f64::INFINITY;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            (0..repeats).for_each(|_| run());
            least = least.min(start.elapsed().as_secs_f64());
        }
        if least > 5e-4 {
            return least / f64::from(repeats);
        }
        repeats *= 4;
    }
}

/// From where a line of the cache begins, as the solver keeps its rows.
fn from_a_line_on(cells: &[f64]) -> &[f64] {
    &cells[cells.as_ptr().align_offset(64).min(7)..]
}

fn rows_times_a_vector(rows: usize, width: usize, looked_at: usize) -> Timed {
    let cells = vec![0.5; rows * width + 7];
    let cells = &from_a_line_on(&cells)[..rows * width];
    let x = vec![0.25; width];
    // Spread over all rows, as those near a margin are.
    let which: Vec<usize> = (0..looked_at).map(|l| l * rows / looked_at).collect();
    let mut products = vec![0.0; looked_at];
    let seconds = least_seconds(|| row_dots(cells, &which, black_box(&x), &mut products));
    let multiply_adds = (looked_at * width) as f64;
    Timed { inside: 8 * looked_at * width, multiply_adds, bytes: 8.0 * multiply_adds, seconds }
}

fn low_rank_change(size: usize) -> Timed {
    let mut matrix = PackedSymmetric::new(size, |_, _| 1.0);
    let vectors = vec![1e-3; 8 * size];
    let factors = [1e-6, -1e-6, 1e-6, -1e-6, 1e-6, -1e-6, 1e-6, -1e-6];
    let seconds = least_seconds(|| matrix.rank_k_update(&factors, black_box(&vectors)));
    // On and below the diagonal; four changes a pass, each of which reads and writes the matrix.
    let cells = (size * (size + 1) / 2) as f64;
    let inside = 4 * size * (size + 1);
    Timed { inside, multiply_adds: 8.0 * cells, bytes: 2.0 * 2.0 * 8.0 * cells, seconds }
}

/// Makes a function that runs its body compiled for the widest vectors that the processor has, with
/// as many numbers at once as keep their registers busy.
macro_rules! widest {
    ($name:ident($argument:ident: $type:ty) -> $result:ty, $body:ident, $most:literal, $many:literal) => {
        fn $name($argument: $type) -> $result {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f")]
                fn avx512($argument: $type) -> $result {
                    $body::<$most>($argument)
                }
                #[target_feature(enable = "avx2")]
                fn avx2($argument: $type) -> $result {
                    $body::<$many>($argument)
                }
                if std::arch::is_x86_feature_detected!("avx512f") {
                    #[expect(
                        unsafe_code,
                        reason = "the processor was asked whether it has AVX-512"
                    )]
                    return unsafe { avx512($argument) };
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    #[expect(unsafe_code, reason = "the processor was asked whether it has AVX2")]
                    return unsafe { avx2($argument) };
                }
            }
            $body::<$many>($argument)
        }
    };
}

/// Independent sums in registers: multiplications and additions with nothing to wait for.
fn multiply_adds_per_second() -> f64 {
    const STEPS: usize = 4096;
    let mut done = 0;
    let seconds = least_seconds(|| done = in_registers(STEPS));
    done as f64 / seconds
}

widest!(in_registers(steps: usize) -> usize, chains, 192, 48);

/// Tells how many multiply-adds there were.
#[inline(always)]
fn chains<const SUMS: usize>(steps: usize) -> usize {
    let factor = black_box(0.999);
    let mut sums = black_box([1.0; SUMS]);
    for _ in 0..steps {
        for sum in &mut sums {
            *sum = *sum * factor + 1e-9;
        }
    }
    black_box(sums);
    steps * SUMS
}

/// Reads so many bytes, in order, and adds them up.
fn bytes_per_second(bytes: usize) -> f64 {
    let cells = vec![1.0_f64; bytes / 8 + 7];
    let cells = &from_a_line_on(&cells)[..bytes / 8];
    let seconds = least_seconds(|| {
        black_box(add_up(black_box(cells)));
    });
    bytes as f64 / seconds
}

widest!(add_up(cells: &[f64]) -> f64, sums, 64, 32);

#[inline(always)]
fn sums<const SUMS: usize>(cells: &[f64]) -> f64 {
    let mut sums = [0.0; SUMS];
    for chunk in cells.as_chunks::<SUMS>().0 {
        for (sum, cell) in sums.iter_mut().zip(chunk) {
            *sum += cell;
        }
    }
    sums.iter().sum()
}
