/** One life of a run of the growing graph: started, killed and started again by campaign.ts. */
import { writeSync } from 'node:fs'
import { run } from '@heddle/core'
import { setAsideCode } from './set-aside-code.ts'
import { effectsTo, growingGraph } from './graph.ts'

export interface GrowingPlan {
  readonly journal: string
  readonly key: string
  readonly effects: string
  readonly seed: number
  /** Runs nodes again that were set aside in the life before. */
  readonly retry?: boolean
}

const plan = JSON.parse(process.argv[2]!) as GrowingPlan
const graph = growingGraph(
  plan.seed,
  effectsTo(plan.effects, (name) => void writeSync(3, `${name}\n`)),
)
const result = await run(graph, {
  journal: plan.journal,
  key: plan.key,
  concurrency: 4,
  resume: plan.retry === true,
})
const wasSetAside = [...result.failed.values()].some(isSetAside)
const isExpected = !result.ok && result.failed.size === 1 && result.failed.has('bad')
process.exitCode = isExpected ? 0 : wasSetAside ? setAsideCode : 1
if (!isExpected && !wasSetAside)
  console.error(result.failed, result.blocked, result.skipped, result.cancelled)

/**
 * Looks for the error of the node itself, or of an element or a step of it, by its code: an error
 * read back from the journal is a plain object.
 */
function isSetAside(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (error as { code?: unknown }).code === 'HDL_NODE_SET_ASIDE' || isSetAside(error.cause)
}
