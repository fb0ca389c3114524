// Errors of the widget.

/** An error in the form of all events and messages: its cause, what happened and what to do. */
export const makeError = (cause, what, todo, detail) => ({ cause, what, todo, detail: detail ? String(detail.message ?? detail) : null });
