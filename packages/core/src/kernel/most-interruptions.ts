/**
 * How often the process may end while a job, a node, an element or a step runs, before that is set aside (C5 of
 * docs/design/store.md).
 */
export const mostInterruptions = 3
