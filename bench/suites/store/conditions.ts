/** Nodes of a run that are under way at once, for ours and for every peer. */
export const nodesAtOnce = 1_024

/** Nodes of the runs, and how many a peer plays that takes milliseconds for each. */
export const looseNodes = 20_000
export const slowPeerNodes = 1_000

/** Nodes of the graph with dependencies. */
export const graphNodes = 500
