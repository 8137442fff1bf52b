/** The values of flags of `heddle release`. In a file of their own, so that the help loads nothing else. */
export const planSources = ['manifests', 'changesets', 'commits', 'publish-plan'] as const
export type PlanSource = (typeof planSources)[number]
export const ecosystems = ['npm', 'python'] as const
