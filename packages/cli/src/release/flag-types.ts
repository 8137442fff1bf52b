/** The values of the flags of each `heddle release` subcommand, as commander hands them over. */
import type { Ecosystem } from '@heddle/release'
import type { PlanSource } from './choices.ts'

/** Flags that say which packages are meant, and where they go. */
export interface PlanFlags {
  readonly from?: PlanSource
  readonly ecosystem?: Ecosystem
  readonly registry?: string
  readonly pypi?: string
  readonly include?: readonly string[]
  readonly exclude?: readonly string[]
  readonly preid?: string
  readonly distTag?: string
  readonly tagFormat?: string
  readonly lockstep?: boolean
  readonly snapshot?: string | true
  readonly canary?: string | true
  readonly json?: boolean
  readonly color: boolean
}

export interface PublishFlags extends PlanFlags {
  readonly dryRun?: boolean
  readonly concurrency: number
  readonly retries: number
  readonly timeout: number
  readonly visibility: number
  readonly gate: 'visible' | 'accepted'
  readonly staged?: boolean
  readonly pin: 'memory' | 'in-place'
  readonly build?: string | false
  readonly smoke: boolean
  readonly tag: boolean
  readonly push?: string | true
  readonly lease?: string | boolean
  readonly notes?: string | boolean
  readonly otp?: string
  readonly ignoreScripts?: boolean
  readonly allowDirty?: boolean
  readonly allowUnpushed?: boolean
  readonly branch?: readonly string[]
}

export interface VersionFlags extends PlanFlags {
  readonly dryRun?: boolean
  readonly commit: boolean
  readonly changelog: boolean
  readonly message?: string
}

export interface RollbackFlags extends Pick<
  PlanFlags,
  'ecosystem' | 'registry' | 'pypi' | 'include' | 'exclude' | 'json' | 'color'
> {
  readonly yes?: boolean
  readonly message?: string
}
