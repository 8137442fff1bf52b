/** From flags and config to a plan. */
import path from 'node:path'
import { HeddleError } from '@heddle/core'
import {
  checkTagFormat,
  openRegistries,
  planAsPrepared,
  planFromChangesets,
  planFromCommits,
  planFromFile,
  planFromManifests,
  planSnapshot,
  publishPlanFile,
  type CommitPlanOptions,
  type OnRegistry,
  type OtpPrompt,
  type PlanOptions,
  type Registries,
  type ReleasePlan,
  type Workspace,
} from '@heddle/release'
import type { PlanFlags } from './flag-types.ts'
import { chosenFrom, type ChosenFields, type ReleaseSettings } from './release-settings.ts'

/** With `onRegistry`, dependencies that are not released with it must be there. */
export async function readPlan(
  flags: PlanFlags,
  settings: ReleaseSettings,
  onRegistry?: OnRegistry,
  purpose: 'publish' | 'version' = 'publish',
): Promise<ReleasePlan> {
  const { workspace, config, releaseTag } = settings
  const chosen = chosenFrom(flags, config)
  const { include, exclude } = chosen
  const { distTag } = purpose === 'publish' ? flags : {}
  if (chosen.tagFormat !== undefined) checkTagFormat(chosen.tagFormat)
  const { groups, order } = config
  const options: PlanOptions = {
    ...(include !== undefined && { include }),
    ...(exclude !== undefined && { exclude }),
    ...(onRegistry !== undefined && { onRegistry }),
    ...(distTag !== undefined && { distTag }),
    ...(releaseTag !== undefined && { releaseTag }),
    ...(groups !== undefined && { groups }),
    ...(order !== undefined && { order }),
  }
  if (purpose === 'version') return planVersions(flags, chosen, workspace, options)
  const plan = await planToPublish(flags, chosen, workspace, options)
  return asSnapshot(plan, flags, settings)
}

/** A config may say that the versions of the manifests are published: they are made from changesets all the same. */
function planVersions(
  flags: PlanFlags,
  chosen: ChosenFields,
  workspace: Workspace,
  options: PlanOptions,
): Promise<ReleasePlan> {
  return chosen.from === 'commits'
    ? planFromCommits(workspace, { ...commitOptions(flags, chosen, options), purpose: 'version' })
    : planFromChangesets(workspace, options)
}

function planToPublish(
  flags: PlanFlags,
  chosen: ChosenFields,
  workspace: Workspace,
  options: PlanOptions,
): Promise<ReleasePlan> {
  // L5: pending changes are refused as such, not for their dependencies. A snapshot publishes them.
  const { onRegistry: _asked, ...offline } = options
  const isSnapshot = flags.snapshot !== undefined || flags.canary !== undefined
  const forPending = isSnapshot ? options : offline
  switch (chosen.from) {
    case undefined:
      return planAsPrepared(workspace, options, forPending)
    case 'manifests':
      return planFromManifests(workspace, options)
    case 'changesets':
      return planFromChangesets(workspace, forPending)
    case 'commits':
      return planFromCommits(workspace, commitOptions(flags, chosen, options))
    case 'publish-plan':
      return planFromFile(workspace, path.join(workspace.root, publishPlanFile), options)
  }
}

function commitOptions(
  { lockstep, preid }: PlanFlags,
  { tagFormat }: ChosenFields,
  options: PlanOptions,
): CommitPlanOptions {
  return {
    ...options,
    ...(lockstep === true && { mode: 'synchronised' as const }),
    ...(tagFormat !== undefined && { tagFormat }),
    ...(preid !== undefined && { prerelease: preid }),
  }
}

async function asSnapshot(
  plan: ReleasePlan,
  { snapshot, canary, distTag }: PlanFlags,
  { repository }: ReleaseSettings,
): Promise<ReleasePlan> {
  const name = snapshot ?? canary
  if (name === undefined) return plan
  const kind = snapshot === undefined ? 'canary' : 'snapshot'
  if (repository === undefined || (snapshot !== undefined && canary !== undefined)) {
    const expected =
      repository === undefined ? 'a repository with a commit' : 'one of --snapshot and --canary'
    throw new HeddleError('HDL_BAD_OPTION', { option: kind, value: name, expected })
  }
  return planSnapshot(plan, {
    kind,
    ...(name !== true && { name }),
    ...(distTag !== undefined && { distTag }),
    commit: repository.head,
    committedAt: await repository.committedAt(),
  })
}

export function registriesFor(
  { workspace, config }: ReleaseSettings,
  flags: Pick<PlanFlags, 'registry' | 'pypi'>,
  prompt?: OtpPrompt,
): Promise<Registries> {
  const { registries } = config
  return openRegistries({
    folder: workspace.root,
    ...(prompt !== undefined && { prompt }),
    ...(flags.registry !== undefined && { npm: flags.registry }),
    ...(flags.pypi !== undefined && { pypi: flags.pypi }),
    ...(registries !== undefined && { registries }),
  })
}
