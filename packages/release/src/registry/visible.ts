import { HeddleError, isError } from '@heddle/core'
import { type Kernel, Patience, systemKernel, type WaitOptions } from '@heddle/core/lowlevel'
import type { PackedPackage } from '../model.ts'
import { mayPass } from './error-class.ts'
import type { ArchiveStanding, Registry, VersionOnRegistry } from './registry.ts'

export interface VisibleOptions extends WaitOptions {
  /**
   * Milliseconds after which the version is reported as not visible yet. Default 30 minutes. A check under way
   * ends with it, however slowly an archive comes; the last check has 10 s.
   */
  readonly budget?: number
  /** Milliseconds between the first two checks. Default 1 s. */
  readonly firstGap?: number
  /** The gap grows by half each time, up to this. Default 30 s. */
  readonly longestGap?: number
  /** Called after each check that did not find it. */
  readonly onLook?: (looks: number, waited: number) => void
  readonly kernel?: Kernel
}

export type Visibility =
  | { readonly is: 'visible'; readonly found: VersionOnRegistry; readonly waited: number }
  /** The third outcome: the registry took it, and does not show it yet, or not its archive. */
  | {
      readonly is: 'accepted-not-visible'
      readonly lacks: 'version' | 'archive'
      readonly waited: number
      /** Error of the last check, when it failed. */
      readonly error?: unknown
    }

/**
 * Waits until the registry shows the version with our hashes and gives out its archive, with the same
 * hash: before that it cannot be installed.
 *
 * Between two checks nothing is held: no connection, no permit. Temporary failures do not end
 * the wait; a refusal does, because waiting does not change it.
 *
 * *Cancellation*: leaves nothing behind.
 * *Fairness*: each check takes its place in the line for connections.
 * @throws `HDL_VERSION_CONFLICT` when it turns up with other content; `HDL_ARCHIVE_DIFFERS` when the
 * archive is another one, also when it is fetched again.
 * @example
 * const { is } = await waitVisible(registry, packed, { budget: 10 * 60_000, signal })
 */
export async function waitVisible(
  registry: Registry,
  packed: PackedPackage,
  options: VisibleOptions = {},
): Promise<Visibility> {
  return watch(registry, packed, options, async (wait, passes) => {
    const standing = await registry.compare(packed, wait)
    if (standing.is === 'different') {
      const { name, version } = packed
      const { expected, found } = standing
      const details = { package: name, version, registry: registry.url, expected, found }
      throw new HeddleError('HDL_VERSION_CONFLICT', details)
    }
    if (standing.is !== 'ours') return { lacks: 'version' }
    return lookAtArchives(registry, standing.found, packed, wait, passes)
  })
}

/**
 * The same for a version that another clone of the repository has published: its archive is compared
 * with the hashes of the registry.
 *
 * *Cancellation*: leaves nothing behind.
 * *Fairness*: as {@link waitVisible}.
 * @throws `HDL_ARCHIVE_DIFFERS`
 */
export async function waitInstallable(
  registry: Registry,
  of: Pick<PackedPackage, 'name' | 'version'>,
  options: VisibleOptions = {},
): Promise<Visibility> {
  return watch(registry, of, options, async (wait, passes) => {
    const found = await registry.read(of.name, of.version, wait)
    if (found === undefined) return { lacks: 'version' }
    return lookAtArchives(registry, found, undefined, wait, passes)
  })
}

type LookResult =
  | { readonly found: VersionOnRegistry }
  | { readonly lacks: 'version' | 'archive'; readonly error?: unknown }
  | { readonly differs: { readonly expected: string; readonly found: string } }

/** Checks once. `passes` decides after which errors the next check may succeed. */
type LookOnce = (wait: WaitOptions, passes: (error: unknown) => boolean) => Promise<LookResult>

/** The version is there. An archive that cannot be fetched for a time is one that is not there yet. */
async function lookAtArchives(
  registry: Registry,
  found: VersionOnRegistry,
  packed: PackedPackage | undefined,
  wait: WaitOptions,
  passes: (error: unknown) => boolean,
): Promise<LookResult> {
  let archive: ArchiveStanding | undefined
  try {
    archive = await registry.archives?.(found, packed, wait)
  } catch (error) {
    if (!passes(error)) throw error
    return { lacks: 'archive', error }
  }
  if (archive?.is === 'missing') return { lacks: 'archive' }
  return archive?.is === 'different' ? { differs: archive } : { found }
}

/** A cache may give out a broken copy for a moment; three in a row are not an accident. */
const mostDifferent = 3

/** Milliseconds that a check has at the end of the budget: a version that has just become visible must be found. */
const lastLook = 10_000

async function watch(
  registry: Registry,
  { name, version }: Pick<PackedPackage, 'name' | 'version'>,
  options: VisibleOptions,
  lookOnce: LookOnce,
): Promise<Visibility> {
  const { kernel = systemKernel, budget = 1_800_000, longestGap = 30_000, onLook } = options
  const { clock, random } = kernel
  const patience = new Patience(`${name}@${version} to be visible`, kernel.clock, options)
  const startedAt = clock.now()
  let gap = options.firstGap ?? 1_000
  let different = 0
  for (let looks = 1; ; looks++) {
    const limit = Math.max(startedAt + budget - clock.now(), lastLook)
    const look = await attempt(lookOnce, patience, limit)
    const waited = clock.now() - startedAt
    if ('found' in look) return { is: 'visible', found: look.found, waited }
    const isOver = waited >= budget
    if ('differs' in look && (++different >= mostDifferent || isOver)) {
      const details = { package: name, version, registry: registry.url, ...look.differs }
      throw new HeddleError('HDL_ARCHIVE_DIFFERS', details)
    }
    onLook?.(looks, waited)
    if (isOver && 'lacks' in look) return { is: 'accepted-not-visible', waited, ...look }
    // A little apart from each other: packages that were uploaded together would look together.
    const spread = gap * (0.75 + 0.5 * random.next())
    await patience.pause(Math.min(spread, budget - waited))
    gap = Math.min(gap * 1.5, longestGap)
  }
}

/** Checks that fail temporarily do not end the wait, nor does a check that the budget has aborted: the budget does. */
async function attempt(lookOnce: LookOnce, patience: Patience, limit: number): Promise<LookResult> {
  const { deadline = Infinity } = patience.options
  const passes = (error: unknown): boolean =>
    mayPass(error) || (limit < deadline && isError(error, 'HDL_TIMEOUT'))
  try {
    return await lookOnce({ ...patience.options, deadline: Math.min(limit, deadline) }, passes)
  } catch (error) {
    if (!passes(error)) throw error
    return { lacks: 'version', error }
  }
}
