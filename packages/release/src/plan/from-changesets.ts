import { cancelled } from '@heddle/core/lowlevel'
import type { PlannedChange, ReleasePlan, Workspace } from '../model.ts'
import { Problems } from '../workspace/workspace-problems.ts'
import { assemblePlan, type Decision, type PlanOptions } from './assemble.ts'
import { readConfig, type ChangesetsConfig } from './changesets/changesets-config.ts'
import { readIntents, type Intent, type PreState } from './changesets/intents.ts'
import { ChangesetReleases } from './changesets/releases.ts'
import { matching } from './selection.ts'

/**
 * The versions that `changeset version` would write, without writing them: from `.changeset/*.md`
 * and the config beside them, with `fixed`, `linked`, `ignore`, prereleases and dependents.
 *
 * Changesets knows npm only: Python packages of the workspace stay as they are.
 *
 * *Cancellation*: nothing is left behind.
 * *Fairness*: files are read in the order of their names.
 *
 * @throws `HDL_WORKSPACE_INVALID` with everything that is wrong in these files;
 * `HDL_PACKAGE_CYCLE`, `HDL_PLAN_INVALID`, `HDL_BAD_OPTION`
 */
export async function planFromChangesets(
  workspace: Workspace,
  options: PlanOptions = {},
): Promise<ReleasePlan> {
  const { signal } = options
  if (signal?.aborted) throw cancelled('Reading the changesets', signal.reason)
  const problems = new Problems(workspace.root)
  const config = withGroups(await readConfig(workspace, problems), workspace, options)
  const { intents, pre } = await readIntents(workspace, problems, signal)
  const releases = new ChangesetReleases(workspace, config, pre)
  for (const intent of intents) refuseMixed(intent, workspace, releases, problems)
  problems.throwIfAny()

  const decisions = new Map<string, Decision>()
  for (const { name, version } of workspace.packages.values()) {
    const reason = config.ignore.has(name) ? 'ignored by the changesets config' : 'no changeset'
    decisions.set(name, { version, isReleased: false, reason })
  }
  for (const { name, version, reason } of releases.from(intents)) {
    const distTag = pre?.mode === 'pre' ? pre.tag : undefined
    const changes = changesOf(name, intents, pre)
    decisions.set(name, {
      version,
      isReleased: true,
      reason,
      distTag,
      access: config.access,
      changes,
    })
  }
  return assemblePlan(workspace, 'changesets', decisions, options)
}

/** Groups of the release config are `fixed` groups. */
function withGroups(
  config: ChangesetsConfig,
  { packages }: Workspace,
  { groups = [] }: PlanOptions,
): ChangesetsConfig {
  const more = groups.map((patterns) => [...matching('groups', patterns, packages)])
  return { ...config, fixed: [...config.fixed, ...more] }
}

/** What the intents of this release say about a package. A release after prereleases repeats theirs. */
function changesOf(
  name: string,
  intents: readonly Intent[],
  pre: PreState | undefined,
): PlannedChange[] {
  const isPre = pre?.mode === 'pre'
  return intents.flatMap(({ bumps, text, id, isUsed }): PlannedChange[] => {
    const bump = bumps.get(name)
    if (bump === undefined || bump === 'none' || (isPre && isUsed)) return []
    return [{ bump, text: text === '' ? id : text, changeset: id }]
  })
}

/** An intent is used up as a whole, so the part for ignored packages would be lost. */
function refuseMixed(
  { file, bumps }: Intent,
  { packages }: Workspace,
  releases: ChangesetReleases,
  problems: Problems,
): void {
  const names = [...bumps.keys()]
  const skipped = names.filter((name) => releases.isSkipped(packages.get(name)!))
  if (skipped.length === 0 || skipped.length === names.length) return
  problems.add({
    file,
    problem: `it names ${skipped.map((name) => `"${name}"`).join(', ')}, which is not released, beside packages that are`,
    todo: 'Split it into two files.',
  })
}
