/** What flags of `heddle release` may say. Apart, so that the help needs nothing of the rest. */
export const planSources = ['manifests', 'changesets', 'commits', 'publish-plan'] as const
export type PlanSource = (typeof planSources)[number]
