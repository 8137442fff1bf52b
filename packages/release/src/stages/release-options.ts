import os from 'node:os'
import type { Graph, Observer, Run } from '@heddle/core'
import type { Kernel } from '@heddle/core/lowlevel'
import type { PlannedPackage, ReleasePlan } from '../model.ts'
import type { PreflightOptions } from '../preflight/preflight.ts'
import type { Registry } from '../registry/registry.ts'
import type { StageResources } from './stages.ts'

/** Gives the registry that a package belongs to. Asked once per package; registries may be shared. */
export type RegistryOf = (planned: PlannedPackage) => Registry

export interface ReleaseOptions extends PreflightOptions {
  readonly registryOf: RegistryOf
  /** Packs and checks everything, uploads nothing. */
  readonly dryRun?: boolean
  /** Hands everything in first, then approves in the order of dependencies. */
  readonly staged?: boolean
  /**
   * The condition for the upload of a package: that its dependencies can be installed
   * (`visible`, the default), or that the registry took them (`accepted`).
   */
  readonly gate?: 'visible' | 'accepted'
  /** Uploads at once. Default 5. */
  readonly concurrency?: number
  /** Uploads of one version after the first one failed for a passing reason. Default 3. */
  readonly retries?: number
  /** Milliseconds: upload n waits uniform(0, min(retryBaseDelay * 2^n, 60 s)). Default 1,000. */
  readonly retryBaseDelay?: number
  /** Milliseconds that one stage may take. Default 600,000. */
  readonly timeout?: number
  /** Milliseconds that a registry has to show an accepted version. Default 30 minutes. */
  readonly visibilityBudget?: number
  /** Milliseconds in which an upload without a clear answer may still show up. Default 20,000. */
  readonly settle?: number
  /** The script that builds a package, where it has one; false builds nothing. Default `build`. */
  readonly build?: string | false
  /** Runs none of the scripts that npm runs by itself (`prepack`, `postpublish`, …). */
  readonly ignoreScripts?: boolean
  /** Installs the published packages into an empty project and imports their entry points. Default true. */
  readonly smoke?: boolean
  /** Patterns of packages that the smoke test only installs, because Node cannot import them. */
  readonly installOnly?: readonly string[]
  /** How Git tags are called. Default `{name}@{version}`, for a single package `v{version}`. */
  readonly tagFormat?: string
  /**
   * The remote whose lease keeps other clones from releasing at the same time. False takes none. When absent:
   * the remote that tags go to, else `origin`; a remote that takes no push from us gives a warning then.
   */
  readonly lease?: string | false
  /** Milliseconds that a lease lives without a renewal. Default 90,000. */
  readonly leaseTtl?: number
  /** `in-place` rewrites manifests in the work tree while packages are built. Default `memory`. */
  readonly pin?: 'memory' | 'in-place'
  /** A one-time password, where the account needs one. */
  readonly otp?: string
  /** A Sigstore bundle by package name. */
  readonly provenance?: ReadonlyMap<string, string>
  /**
   * Makes the plan again: called when manifests had to be restored first, because the plan
   * may have been read from them (L2). Without it such a release is refused, once.
   */
  readonly replan?: () => Promise<ReleasePlan>
  readonly signal?: AbortSignal
  /** Called with the waits of the release before its stages start. */
  readonly onNotice?: (text: string) => void
  readonly observer?: Observer
  /** Called before the first stage starts. */
  readonly onGraph?: (graph: Graph) => void
  /** Called when the stages have started: the run can be paused, cancelled and asked why something waits. */
  readonly onStart?: (run: Run) => void
  readonly kernel?: Kernel
}

/** The load that the machine and the registry can bear at once. */
export function resourcesOf({
  concurrency = 5,
}: ReleaseOptions): StageResources & Record<string, number> {
  const cpu = Math.min(concurrency, os.availableParallelism())
  return { cpu, upload: concurrency, read: 2 * concurrency }
}
