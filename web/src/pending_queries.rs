//! Matches the worker's replies to pending queries.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use futures::channel::oneshot;

use crate::messages::query::{QueryAnswer, QueryId, Reply};
use crate::ui_error::UiError;

/// Callback that receives the bytes that have arrived and the total.
pub type Report = Rc<dyn Fn(u64, u64)>;

struct Pending {
    done: oneshot::Sender<Result<QueryAnswer, UiError>>,
    report: Report,
}

/// The pending queries.
#[derive(Default)]
pub struct PendingQueries {
    last: Cell<u64>,
    pending: RefCell<HashMap<QueryId, Pending>>,
}

impl PendingQueries {
    /// Registers a query; returns its number and the receiver of its answer.
    pub fn open(
        &self,
        report: Report,
    ) -> (QueryId, oneshot::Receiver<Result<QueryAnswer, UiError>>) {
        let id = QueryId(self.last.get() + 1);
        self.last.set(id.0);
        let (done, answer) = oneshot::channel();
        self.pending
            .borrow_mut()
            .insert(id, Pending { done, report });
        (id, answer)
    }

    /// Handles a reply; ignores replies to unknown queries.
    pub fn resolve(&self, id: QueryId, reply: Reply) {
        let answer = match reply {
            Reply::Fetching { loaded, total } => {
                let report = self.pending.borrow().get(&id).map(|p| Rc::clone(&p.report));
                if let Some(report) = report {
                    report(loaded, total);
                }
                return;
            }
            Reply::Done { answer } => Ok(answer),
            Reply::Failed { error } => Err(error),
        };
        let pending = self.pending.borrow_mut().remove(&id);
        if let Some(pending) = pending {
            // The receiver may have been dropped.
            let _ = pending.done.send(answer);
        }
    }

    /// Drops all pending queries, because the worker is gone.
    pub fn clear(&self) {
        self.pending.borrow_mut().clear();
    }
}
