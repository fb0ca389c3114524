//! Questions to the worker and the replies that are waited for.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use futures::channel::oneshot;

use crate::messages::ask::{AskAnswer, AskId, Reply};
use crate::ui_error::UiError;

/// Is told of bytes that have arrived and of bytes in all.
pub type Report = Rc<dyn Fn(u64, u64)>;

struct Pending {
    done: oneshot::Sender<Result<AskAnswer, UiError>>,
    report: Report,
}

/// The questions that are open.
#[derive(Default)]
pub struct Asking {
    last: Cell<u64>,
    pending: RefCell<HashMap<AskId, Pending>>,
}

impl Asking {
    /// A number for a question, and the end at which its answer arrives.
    pub fn open(&self, report: Report) -> (AskId, oneshot::Receiver<Result<AskAnswer, UiError>>) {
        let id = AskId(self.last.get() + 1);
        self.last.set(id.0);
        let (done, answer) = oneshot::channel();
        self.pending
            .borrow_mut()
            .insert(id, Pending { done, report });
        (id, answer)
    }

    /// Takes in a reply; one to a question that nobody waits for is dropped.
    pub fn hear(&self, id: AskId, reply: Reply) {
        let answer = match reply {
            Reply::Fetching { loaded, total } => {
                let report = self.pending.borrow().get(&id).map(|p| Rc::clone(&p.report));
                if let Some(report) = report {
                    report(loaded, total);
                }
                return;
            }
            Reply::Done { told } => Ok(told),
            Reply::Failed { error } => Err(error),
        };
        let pending = self.pending.borrow_mut().remove(&id);
        if let Some(pending) = pending {
            // Whoever asked may have gone.
            let _ = pending.done.send(answer);
        }
    }

    /// Ends all waiting: the worker is gone.
    pub fn clear(&self) {
        self.pending.borrow_mut().clear();
    }
}
