//! Writes independent files in parallel.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::Result;

/// Files written at the same time: each has a buffer of up to `rows::LARGE` bytes.
const MOST: usize = 4;

/// Writes one file.
pub type Job<'a> = Box<dyn Fn() -> Result<()> + Send + Sync + 'a>;

/// Runs all jobs, started in this order, on at most this many threads. After an error no further
/// job is started; of several errors, that of the first job is returned.
pub fn together(jobs: &[Job<'_>], threads: usize) -> Result<()> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(place) else { return };
            if let Err(error) = job() {
                next.store(jobs.len(), Ordering::Relaxed);
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                if failed.as_ref().is_none_or(|&(before, _)| place < before) {
                    *failed = Some((place, error));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = threads.min(MOST).min(jobs.len());
        // If a thread cannot be started, the others do its work.
        (1..threads).for_each(|_| drop(std::thread::Builder::new().spawn_scoped(scope, work)));
        work();
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.map_or(Ok(()), |(_, error)| Err(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn every_job_is_done_once_and_an_error_is_told() {
        let done = AtomicUsize::new(0);
        let job = |_| -> Job<'_> {
            Box::new(|| {
                done.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
        };
        let mut jobs: Vec<Job<'_>> = (0..20).map(job).collect();
        for threads in 1..6 {
            together(&jobs, threads).unwrap();
            assert_eq!(done.swap(0, Ordering::Relaxed), 20);
        }
        jobs.push(Box::new(|| Err(Error::internal("on purpose"))));
        assert!(together(&jobs, 2).unwrap_err().to_string().contains("on purpose"));
        together(&[], 2).unwrap();
    }
}
