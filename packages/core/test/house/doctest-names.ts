/**
 * Names that examples may use without declaring them, so that an example shows the one thing it is
 * about. Each does the least that lets the example run.
 */

/** Never aborts. */
export const signal: AbortSignal = new AbortController().signal
