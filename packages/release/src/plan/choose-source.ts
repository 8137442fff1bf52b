import path from 'node:path'
import type { ReleasePlan, Workspace } from '../model.ts'
import { isThere } from '../workspace/is-there.ts'
import { Problems } from '../workspace/workspace-problems.ts'
import type { PlanOptions } from './assemble.ts'
import { readIntents } from './changesets/intents.ts'
import { planFromChangesets } from './from-changesets.ts'
import { planFromManifests } from './from-manifests.ts'
import { planFromFile } from './publish-plan.ts'

/** The file for its plan that Changesets' own documentation uses. */
export const publishPlanFile = 'publish-plan.json'

/**
 * The plan of whatever is prepared in the workspace: a `publish-plan.json`; changesets that no
 * version was made of yet; else the versions in the manifests. Commits are never taken unasked:
 * every repository has some. `forPending` are the options of a plan from changesets, where they are others.
 *
 * *Cancellation*: nothing is left behind.
 * *Fairness*: files are read in the order of their names.
 *
 * @throws as the planner that is chosen
 */
export async function planAsPrepared(
  workspace: Workspace,
  options: PlanOptions = {},
  forPending: PlanOptions = options,
): Promise<ReleasePlan> {
  const file = path.join(workspace.root, publishPlanFile)
  if (await isThere(file)) return planFromFile(workspace, file, options)
  const problems = new Problems(workspace.root)
  const { intents, pre } = await readIntents(workspace, problems, options.signal)
  const isOpen =
    intents.some(({ isUsed }) => !isUsed) || (pre?.mode === 'exit' && intents.length > 0)
  // The planner reports faults in these files: an unreadable changeset is not "none".
  if (!isOpen && problems.count === 0) return planFromManifests(workspace, options)
  const plan = await planFromChangesets(workspace, forPending)
  // Changesets of packages that are not released (private, ignored, excluded) wait and hold nothing up.
  const isReleasing = [...plan.packages.values()].some(({ status }) => status === 'included')
  return isReleasing ? plan : planFromManifests(workspace, options)
}
