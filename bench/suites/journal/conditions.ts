/** Transitions, or jobs, that are under way at once: a row for each. */
export const inFlight = [1, 16, 64, 256, 1024] as const

/** Rows in which each commit is timed as well. */
export const timedInFlight: readonly number[] = [1, 64]

/** Nodes of the graph that is run from end to end, and how many of them run at once. */
export const flowNodes = 500
export const flowConcurrency = 64
