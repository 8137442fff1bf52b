/** From flags to a plan. */
import path from 'node:path'
import {
  openRegistries,
  planAsPrepared,
  planFromChangesets,
  planFromCommits,
  planFromFile,
  planFromManifests,
  publishPlanFile,
  readWorkspace,
  type OnRegistry,
  type PlanOptions,
  type Registries,
  type ReleasePlan,
} from '@heddle/release'
import type { PlanFlags } from '../commands/release.ts'

/** With `onRegistry`, what is needed and not released with it must be there. */
export async function readPlan(
  flags: PlanFlags,
  onRegistry?: OnRegistry,
  purpose: 'publish' | 'version' = 'publish',
): Promise<ReleasePlan> {
  const workspace = await readWorkspace(process.cwd())
  const options: PlanOptions = {
    ...(flags.include !== undefined && { include: flags.include }),
    ...(flags.exclude !== undefined && { exclude: flags.exclude }),
    ...(onRegistry !== undefined && { onRegistry }),
    ...(flags.distTag !== undefined && { tag: flags.distTag }),
  }
  const { from } = flags
  if (from === undefined) return planAsPrepared(workspace, options)
  switch (from) {
    case 'manifests':
      return planFromManifests(workspace, options)
    case 'changesets':
      return planFromChangesets(workspace, options)
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

export function registriesFor(root: string, flags: PlanFlags): Promise<Registries> {
  return openRegistries({
    folder: root,
    ...(flags.registry !== undefined && { npm: flags.registry }),
    ...(flags.pypi !== undefined && { pypi: flags.pypi }),
  })
}
