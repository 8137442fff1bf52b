/** Tasks running at once in the graph and bounded rows. */
export const concurrency = 64

/** Threads of every pool: as many as the reference machine has cores. */
export const threads = 2

/** Calls on their way at once in the thread rows that are not about one round trip. */
export const inFlight = 64
