import { HeddleError } from '@heddle/core'
import { systemKernel, type Kernel, type WaitOptions } from '@heddle/core/lowlevel'
import type { PackedPackage } from '../model.ts'
import { classOf, classPolicies } from './error-class.ts'
import type { Registry, Standing, VersionOnRegistry } from './registry.ts'
import { Patience } from './wait.ts'

export interface VisibleOptions extends WaitOptions {
  /** Milliseconds after which it is said that the version is not visible yet. Default 30 minutes. */
  readonly budget?: number
  /** Milliseconds between the first two looks. Default 1 s. */
  readonly firstGap?: number
  /** The gap grows by half each time, up to this. Default 30 s. */
  readonly longestGap?: number
  /** Told after each look that did not find it. */
  readonly onLook?: (looks: number, waited: number) => void
  readonly kernel?: Kernel
}

export type Visibility =
  | { readonly is: 'visible'; readonly found: VersionOnRegistry; readonly waited: number }
  /** The third outcome: the registry took it, and does not show it yet. */
  | {
      readonly is: 'accepted-not-visible'
      readonly waited: number
      /** Why the last look failed, when it failed. */
      readonly error?: unknown
    }

/**
 * Waits until the registry shows the version with our hashes.
 *
 * Between two looks nothing is held: no connection, no slot. Looks that fail for a time do not end
 * it; those that say that we may not look do, because waiting does not change that.
 *
 * *Cancellation*: leaves nothing behind.
 * *Fairness*: each look takes its place in the line for connections.
 * @throws `HDL_VERSION_CONFLICT` when it turns up with other content.
 * @example
 * const { is } = await waitVisible(registry, packed, { budget: 10 * 60_000, signal })
 */
export async function waitVisible(
  registry: Registry,
  packed: PackedPackage,
  options: VisibleOptions = {},
): Promise<Visibility> {
  const { kernel = systemKernel, budget = 1_800_000, longestGap = 30_000, onLook } = options
  const { clock, random } = kernel
  const { name, version } = packed
  const patience = new Patience(`${name}@${version} to be visible`, kernel, options)
  const startedAt = clock.now()
  let gap = options.firstGap ?? 1_000
  for (let looks = 1; ; looks++) {
    const { standing, error } = await look(registry, packed, patience)
    const waited = clock.now() - startedAt
    if (standing?.is === 'ours') return { is: 'visible', found: standing.found, waited }
    if (standing?.is === 'different') {
      const { expected, found } = standing
      const details = { package: name, version, registry: registry.url, expected, found }
      throw new HeddleError('HDL_VERSION_CONFLICT', details)
    }
    onLook?.(looks, waited)
    if (waited >= budget) {
      return { is: 'accepted-not-visible', waited, ...(error === undefined ? {} : { error }) }
    }
    // A little apart from each other: packages that were uploaded together would look together.
    const spread = gap * (0.75 + 0.5 * random.next())
    await patience.sleep(Math.min(spread, budget - waited))
    gap = Math.min(gap * 1.5, longestGap)
  }
}

async function look(
  registry: Registry,
  packed: PackedPackage,
  patience: Patience,
): Promise<{ standing?: Standing; error?: unknown }> {
  try {
    return { standing: await registry.compare(packed, patience.options) }
  } catch (error) {
    const kind = classOf(error)
    if (kind === undefined || !classPolicies[kind].again) throw error
    return { error }
  }
}
