//! The hottest loops, by themselves: `cargo bench --bench loops`.
//!
//! A wide step is a downdate of rows × rows kernels and the search among bounds; a tall step looks
//! at the rows near the margin and takes some in and out of the inverse. `benches/floor.rs`
//! compares the last two with what the machine can do.

use crfe::data::Unit;
use crfe::data::seed::{Purpose, Rng};
use crfe::linalg::{PackedSymmetric, row_dots};
use crfe::select::{Elimination, Method, Settings};
use ndarray::Array2;

fn main() {
    divan::main();
}

fn table(rows: usize, columns: usize) -> (Array2<f64>, Vec<usize>, Vec<Unit>) {
    let mut rng = Rng::new(1, 0, Purpose::Split);
    let y: Vec<usize> = (0..rows).map(|i| i % 2).collect();
    let x = Array2::from_shape_fn((columns, rows), |(j, i)| {
        let noise: f64 = (0..4).map(|_| rng.uniform() - 0.5).sum();
        2.0 * noise + if j < 10 { y[i] as f64 } else { 0.0 }
    });
    let units = (0..columns).map(|j| Unit::single(format!("x{j}"), j)).collect();
    (x, y, units)
}

/// Steps of a path, the first fit not counted.
fn steps(bencher: divan::Bencher<'_, '_>, rows: usize, columns: usize, method: Method) {
    let (x, y, units) = table(rows, columns);
    let still = vec![false; columns];
    let data = (x.view(), y.as_slice());
    let start = || {
        let path = Elimination::new(Settings::new(method, 2), &units, data, data, &still);
        let mut path = path.expect("a path").watch(x.view());
        path.next().expect("a model").expect("finite models");
        path
    };
    bencher.with_inputs(start).bench_local_refs(|path| path.take(20).count());
}

#[divan::bench(args = [Method::Crfe, Method::Rfe])]
fn twenty_steps_of_75_by_20000(bencher: divan::Bencher<'_, '_>, method: Method) {
    steps(bencher, 75, 20_000, method);
}

#[divan::bench(args = [Method::Crfe, Method::Rfe])]
fn twenty_steps_of_7500_by_200(bencher: divan::Bencher<'_, '_>, method: Method) {
    steps(bencher, 7_500, 200, method);
}

#[divan::bench(args = [(637, 112, 192), (7500, 208, 1116)])]
fn rows_times_a_vector(
    bencher: divan::Bencher<'_, '_>,
    (rows, width, looked_at): (usize, usize, usize),
) {
    let cells = vec![0.5; rows * width];
    let x = vec![0.25; width];
    let which: Vec<usize> = (0..looked_at).map(|l| l * rows / looked_at).collect();
    let mut products = vec![0.0; looked_at];
    bencher.bench_local(|| row_dots(&cells, &which, divan::black_box(&x), &mut products));
}

#[divan::bench(args = [112, 208])]
fn eight_changes_to_a_matrix(bencher: divan::Bencher<'_, '_>, size: usize) {
    let mut matrix = PackedSymmetric::new(size, |_, _| 1.0);
    let vectors = vec![1e-3; 8 * size];
    bencher.bench_local(|| matrix.rank_k_update(&[1e-6; 8], divan::black_box(&vectors)));
}
