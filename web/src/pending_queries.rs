//! Matches the worker's replies to pending queries.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use futures::channel::oneshot;
use leptos::prelude::*;

use crate::messages::query::{QueryAnswer, QueryId, Reply};
use crate::ui_error::UiError;

/// What is done of a query that takes long, and the total.
pub type Progress = RwSignal<Option<(u64, u64)>>;

struct Pending {
    done: oneshot::Sender<Result<QueryAnswer, UiError>>,
    progress: Option<Progress>,
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
        progress: Option<Progress>,
    ) -> (QueryId, oneshot::Receiver<Result<QueryAnswer, UiError>>) {
        let id = QueryId(self.last.get() + 1);
        self.last.set(id.0);
        let (done, answer) = oneshot::channel();
        self.pending
            .borrow_mut()
            .insert(id, Pending { done, progress });
        (id, answer)
    }

    /// Handles a reply; ignores replies to unknown queries.
    pub fn resolve(&self, id: QueryId, reply: Reply) {
        let answer = match reply {
            Reply::Fetching { loaded, total } => {
                let progress = self.pending.borrow().get(&id).and_then(|p| p.progress);
                if let Some(progress) = progress {
                    progress.set(Some((loaded, total)));
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
