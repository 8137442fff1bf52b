/** The settings of a release: the flags, and without them the config of the workspace. */
import {
  branchTag,
  readReleaseConfig,
  readWorkspace,
  Repository,
  type ReleaseConfig,
  type Workspace,
} from '@heddle/release'
import type { PlanFlags } from '../commands/release.ts'

export interface ReleaseSettings {
  readonly workspace: Workspace
  readonly config: ReleaseConfig
  /** Undefined outside of a repository. */
  readonly repository: Repository | undefined
  /** The dist-tag of the branch, where the config has one. */
  readonly releaseTag: string | undefined
}

export async function readSettings(): Promise<ReleaseSettings> {
  const workspace = await readWorkspace(process.cwd())
  const { root } = workspace
  const config = await readReleaseConfig(root)
  const repository = await Repository.open(root)
  return { workspace, config, repository, releaseTag: await branchTag(config, repository) }
}

/** The flags of a plan with the config below them. */
export function withConfig<F extends PlanFlags>(flags: F, config: ReleaseConfig): F {
  const { from, include, exclude, tagFormat } = config
  const below = { from, include, exclude, tagFormat }
  const given = Object.entries(flags).filter(([, value]) => value !== undefined)
  return { ...definedOf(below), ...Object.fromEntries(given) } as F
}

function definedOf(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
