//! The processor time of the current thread.
use std::time::Duration;

/// The processor time that this thread has used. It does not advance while the thread does not run. `None` if the
/// system does not provide it.
pub fn thread_time() -> Option<Duration> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes one `timespec` to a local variable.
        let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        if failed != 0 {
            return None;
        }
        let (seconds, nanoseconds) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
        Some(Duration::new(seconds, nanoseconds))
    }
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes until this thread has used this much time.
    fn compute(time: Duration) {
        let end = thread_time().unwrap() + time;
        let mut sum = 0_u64;
        while thread_time().unwrap() < end {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods)] // no interpreter is there that the thread could wait for
    fn it_advances_while_this_thread_computes_and_not_while_another_does() {
        const WORK: Duration = Duration::from_millis(50);
        let Some(start) = thread_time() else { return };
        let used = || thread_time().unwrap().saturating_sub(start);
        std::thread::scope(|scope| scope.spawn(|| compute(WORK)).join().unwrap());
        // Waiting uses hardly any processor time, however long it takes.
        assert!(used() < WORK);
        compute(WORK);
        assert!(used() >= WORK);
    }
}
