//! Files that need nothing of one another are made side by side.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Result;
use crate::run::default_threads;

/// Files that are in the making at a time: each is held in memory until it is whole.
const MOST: usize = 4;

/// Makes one file.
pub type Job<'a> = Box<dyn Fn() -> Result<()> + Send + Sync + 'a>;

/// Does all jobs, begun in this order, on as many threads as there may be; after an error no other job is begun on that thread.
pub fn together(jobs: &[Job<'_>]) -> Result<()> {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            job()?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads = default_threads().min(MOST).min(jobs.len());
        // Threads that are not to be had are done without.
        let others: Vec<_> =
            (1..threads).filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
        let own = work();
        others.into_iter().fold(own, |outcome, thread| {
            outcome.and(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    })
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
        together(&jobs).unwrap();
        assert_eq!(done.load(Ordering::Relaxed), 20);
        jobs.push(Box::new(|| Err(Error::internal("on purpose"))));
        assert!(together(&jobs).unwrap_err().to_string().contains("on purpose"));
        together(&[]).unwrap();
    }
}
