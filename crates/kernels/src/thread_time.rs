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

    #[test]
    fn it_advances_while_the_thread_computes_and_not_while_it_sleeps() {
        let Some(start) = thread_time() else { return };
        let computed = || thread_time().unwrap().saturating_sub(start);
        std::thread::sleep(Duration::from_millis(50));
        let slept = computed();
        assert!(slept < Duration::from_millis(25), "{slept:?}");
        let mut sum = 0_u64;
        while computed() < slept + Duration::from_millis(5) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(sum > 0);
    }
}
