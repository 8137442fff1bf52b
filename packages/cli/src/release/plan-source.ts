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
  type OnRegistry,
  type OtpPrompt,
  type PlanOptions,
  type Registries,
  type ReleasePlan,
  type Workspace,
} from '@heddle/release'
import type { PlanFlags } from '../commands/release.ts'
import { withConfig, type ReleaseSettings } from './settings.ts'

/** With `onRegistry`, dependencies that are not released with it must be there. */
export async function readPlan(
  given: PlanFlags,
  settings: ReleaseSettings,
  onRegistry?: OnRegistry,
  purpose: 'publish' | 'version' = 'publish',
): Promise<ReleasePlan> {
  const { workspace, config, releaseTag } = settings
  const flags = withConfig(given, config)
  if (flags.tagFormat !== undefined) checkTagFormat(flags.tagFormat)
  const { groups, order } = config
  const options: PlanOptions = {
    ...(flags.include !== undefined && { include: flags.include }),
    ...(flags.exclude !== undefined && { exclude: flags.exclude }),
    ...(onRegistry !== undefined && { onRegistry }),
    ...(flags.distTag !== undefined && { distTag: flags.distTag }),
    ...(releaseTag !== undefined && { releaseTag }),
    ...(groups !== undefined && { groups }),
    ...(order !== undefined && { order }),
  }
  const plan = await planFrom(flags, workspace, options, purpose)
  if (purpose === 'version') refuseSnapshot(flags)
  return asSnapshot(plan, flags, settings)
}

function planFrom(
  flags: PlanFlags,
  workspace: Workspace,
  options: PlanOptions,
  purpose: 'publish' | 'version',
): Promise<ReleasePlan> {
  const { from } = flags
  // L5: pending changes are refused as such, not for their dependencies. A snapshot publishes them.
  const { onRegistry: _asked, ...offline } = options
  const isSnapshot = flags.snapshot !== undefined || flags.canary !== undefined
  const forPending = isSnapshot ? options : offline
  if (from === undefined) {
    return purpose === 'version'
      ? planFromChangesets(workspace, options)
      : planAsPrepared(workspace, options, forPending)
  }
  switch (from) {
    case 'manifests':
      return planFromManifests(workspace, options)
    case 'changesets':
      return planFromChangesets(workspace, forPending)
    case 'commits':
      return planFromCommits(workspace, {
        ...options,
        purpose,
        ...(flags.lockstep === true && { mode: 'synchronised' as const }),
        ...(flags.tagFormat !== undefined && { tagFormat: flags.tagFormat }),
        ...(flags.preid !== undefined && { prerelease: flags.preid }),
      })
    case 'publish-plan':
      return planFromFile(workspace, path.join(workspace.root, publishPlanFile), options)
  }
}

/** S3: versions of a snapshot are in no manifest. */
function refuseSnapshot({ snapshot, canary }: PlanFlags): void {
  const value = snapshot ?? canary
  if (value === undefined) return
  const option = snapshot === undefined ? 'canary' : 'snapshot'
  const expected = 'nothing: such versions are only published'
  throw new HeddleError('HDL_BAD_OPTION', { option, value, expected })
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
