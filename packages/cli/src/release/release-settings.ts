/** The settings of a release: the flags, and without them the config of the workspace. */
import {
  branchTag,
  readReleaseConfig,
  readWorkspace,
  Repository,
  type ReleaseConfig,
  type Workspace,
} from '@heddle/release'
import type { PlanFlags } from './flag-types.ts'

export interface ReleaseSettings {
  readonly workspace: Workspace
  readonly config: ReleaseConfig
  /** Undefined outside of a repository. */
  readonly repository: Repository | undefined
  /** The dist-tag of the branch, where the config has one. */
  readonly releaseTag: string | undefined
}

export async function readSettings(flags: Pick<PlanFlags, 'ecosystem'>): Promise<ReleaseSettings> {
  let config: ReleaseConfig = {}
  const workspace = await readWorkspace(process.cwd(), {
    ecosystem: async (folder) => {
      config = await readReleaseConfig(folder)
      return flags.ecosystem ?? config.ecosystem
    },
  })
  const { root } = workspace
  const repository = await Repository.open(root)
  return { workspace, config, repository, releaseTag: await branchTag(config, repository) }
}

/** What flags and config both can say: the flag, where it was typed. */
type Chosen = Pick<PlanFlags, 'from' | 'include' | 'exclude' | 'tagFormat'>

/** The same, with undefined for what neither says. */
export type ChosenFields = { readonly [K in keyof Chosen]-?: Chosen[K] | undefined }

/** Each is read when it is asked for: a flag that was read counts as used. */
export function chosenFrom(flags: Chosen, config: ReleaseConfig): ChosenFields {
  return {
    get from() {
      return flags.from ?? config.from
    },
    get include() {
      return flags.include ?? config.include
    },
    get exclude() {
      return flags.exclude ?? config.exclude
    },
    get tagFormat() {
      return flags.tagFormat ?? config.tagFormat
    },
  }
}
