//! A future that is waited for beside another one without being asked each time.
//!
//! Knows no connection. A connection is polled for each call; what may end it early, a stop or the lack of calls, happens
//! once in its life, and asking whether it has happened would cost a few hundred instructions a call.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Which of the two was ready first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum First<M, A> {
    /// The one that is polled each time.
    Main(M),
    /// The one beside it.
    Aside(A),
}

/// Waits for `main`, which is polled each time, or for `aside`, which is polled only when it has called.
pub(super) async fn first<M: Future, A: Future>(
    mut main: Pin<&mut M>,
    mut aside: Pin<&mut A>,
) -> First<M::Output, A::Output> {
    let mut bell: Option<Arc<Bell>> = None;
    poll_fn(|context| {
        if let Poll::Ready(output) = main.as_mut().poll(context) {
            return Poll::Ready(First::Main(output));
        }
        // A task's waker stays the same as a rule; if not, the old bell would ring for nobody.
        let known = bell.as_ref().is_some_and(|bell| bell.task.will_wake(context.waker()));
        if known && bell.as_ref().is_some_and(|bell| !bell.rung.swap(false, Ordering::AcqRel)) {
            return Poll::Pending;
        }
        if !known {
            bell = None;
        }
        let bell = bell.get_or_insert_with(|| Arc::new(Bell::of(context.waker())));
        aside.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(bell)))).map(First::Aside)
    })
    .await
}

/// Wakes the task, and remembers that it was this future that called.
struct Bell {
    rung: AtomicBool,
    task: Waker,
}

impl Bell {
    fn of(task: &Waker) -> Self {
        Self { rung: AtomicBool::new(false), task: task.clone() }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rung.store(true, Ordering::Release);
        self.task.wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use tokio::sync::{Notify, mpsc};

    use super::*;

    /// Counts how often a future is polled.
    async fn counted<F: Future>(polls: &AtomicUsize, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            polls.fetch_add(1, Ordering::Relaxed);
            future.as_mut().poll(context)
        })
        .await
    }

    #[tokio::test]
    async fn the_future_beside_is_polled_when_it_calls_and_not_with_the_other() {
        let (sender, mut receiver) = mpsc::channel::<u32>(1);
        let (bell, polls) = (Notify::new(), AtomicUsize::new(0));
        let main = async {
            while receiver.recv().await.is_some() {}
            "main"
        };
        let aside = counted(&polls, async {
            bell.notified().await;
            bell.notified().await;
            "aside"
        });
        let (mut main, mut aside) = (pin!(main), pin!(aside));
        let driver = async {
            for number in 0..100 {
                sender.send(number).await.unwrap();
                tokio::task::yield_now().await;
            }
            for _ in 0..2 {
                bell.notify_one();
                tokio::task::yield_now().await;
            }
            std::future::pending::<()>().await;
        };
        // In a task of its own the waker is that of the task, whoever else is polled in it.
        let both = async {
            tokio::select! {
                first = first(main.as_mut(), aside.as_mut()) => first,
                () = driver => First::Main("driver"),
            }
        };
        assert_eq!(both.await, First::Aside("aside"));
        let polls = polls.load(Ordering::Relaxed);
        assert!((2..=3).contains(&polls), "{polls}");
    }

    #[tokio::test]
    async fn the_main_future_ends_it_too() {
        let sleep = tokio::time::sleep(Duration::from_secs(60));
        let (mut main, mut aside) = (pin!(tokio::task::yield_now()), pin!(sleep));
        assert_eq!(first(main.as_mut(), aside.as_mut()).await, First::Main(()));
    }
}
