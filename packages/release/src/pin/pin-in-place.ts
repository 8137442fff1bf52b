/**
 * `--pin in-place`: manifests are rewritten in the work tree for a while, for builds that read them
 * there, and come back byte by byte, whatever ends the process (seed 000's ephemeral pinning).
 *
 *   recover ──▶ read all ──▶ compute all ──▶ change one after the other ──▶ pinned ──▶ restored
 *                  │             │                      │
 *                  └─ typed error, nothing changed      └─ typed error, all restored
 *
 * Journal, signals, hashes and the check for edits of others are those of `RestoreRegistry`
 * (packages/core/src/files/restore.ts). In addition every manifest is understood before
 * the first one is changed, and that pins may overlap (held-files.ts).
 *
 * Invariants, quoted by the tests:
 *  N1  Before anything else, manifests that a killed process left pinned are restored.
 *  N2  All manifests are pinned or none.
 *  N3  A file without anything to pin is not touched, not even in the journal.
 */
import { realpath } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError, isError } from '@heddle/core'
import { RestoreRegistry, Shared, type Lease, type Recovery } from '@heddle/core/lowlevel'
import { readManifest } from '../manifest/manifest-text.ts'
import type { PlannedPackage, ReleasePlan } from '../model.ts'
import { HeldFiles } from './held-files.ts'
import { pinnedText } from './pinned-text.ts'

export interface PinOptions {
  /** Where originals and intents are kept, for example `.git/heddle/pins`; made when absent. */
  readonly journalFolder: string
}

/** Manifests that are pinned until they are restored. */
export interface PinnedManifests extends AsyncDisposable {
  /** The changed files, without symbolic links. Those with nothing to pin are not among them. */
  readonly files: readonly string[]
  /** What an earlier process had left pinned. */
  readonly recovered: Recovery
  /**
   * Gives the manifests their original bytes back. Calling it again is harmless, and tries again
   * what failed for a reason that may pass.
   *
   * *Cancellation*: cannot be cancelled; killing it is harmless.
   *
   * @throws `HDL_RESTORE_CONFLICT` when one was edited meanwhile; both versions are kept, and all others
   * are restored.
   */
  restore(): Promise<void>
}

/** One registry for each journal folder of the process: pins may overlap. */
const journals = new Shared<string, HeldFiles>({
  name: 'journal of pins',
  open: async (folder) => new HeldFiles(await RestoreRegistry.open(folder)),
  close: (files) => files.registry.close(),
})

class Pins implements PinnedManifests {
  readonly files: readonly string[]
  readonly recovered: Recovery
  readonly #lease: Lease<string, HeldFiles>
  readonly #left: Set<string>
  #restoring: Promise<void> | undefined

  constructor(lease: Lease<string, HeldFiles>, files: readonly string[]) {
    this.#lease = lease
    this.files = files
    this.recovered = lease.value.registry.recovered
    this.#left = new Set(files)
  }

  restore(): Promise<void> {
    this.#restoring ??= this.#restore().finally(() => (this.#restoring = undefined))
    return this.#restoring
  }

  async #restore(): Promise<void> {
    if (this.#lease.released) return
    const errors = await giveBackAll(this.#lease.value, this.#left)
    if (this.#left.size === 0) await this.#lease[Symbol.asyncDispose]()
    if (errors.length > 0) throw firstOf(errors)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.restore()
  }
}

/** Tries all; restorations that may be retried stay in the set. */
async function giveBackAll(held: HeldFiles, files: Set<string>): Promise<unknown[]> {
  const errors: unknown[] = []
  // Newest first: a reader of the tree sees dependents change before their dependencies.
  for (const file of [...files].reverse()) {
    try {
      await held.giveBack(file)
      files.delete(file)
    } catch (error) {
      errors.push(error)
      if (isError(error, 'HDL_RESTORE_CONFLICT')) files.delete(file)
    }
  }
  return errors
}

function firstOf(errors: readonly unknown[]): unknown {
  const [first] = errors
  if (errors.length === 1 || !(first instanceof HeddleError)) return first
  return new HeddleError(first.code, first.details, { cause: first, errors })
}

interface Pin {
  readonly file: string
  readonly original: string
  readonly pinned: string
}

async function planPins(
  held: HeldFiles,
  plan: ReleasePlan,
  packages: Iterable<PlannedPackage>,
): Promise<Pin[]> {
  const pins: Pin[] = []
  for (const planned of packages) {
    const { manifestFile } = planned.package
    const file = await realpath(manifestFile).catch(() => manifestFile)
    const original = held.original(file) ?? (await readManifest(file))
    const pinned = pinnedText(planned, plan, original)
    if (pinned !== original) pins.push({ file, original, pinned })
  }
  return pins
}

/**
 * Pins the manifests of packages in place: in `dependencies` and `optionalDependencies`, or
 * `[project].dependencies` and `[project.optional-dependencies]`, packages of the workspace get
 * exactly their planned version; `peerDependencies` get the range that is released; local ranges of
 * `devDependencies` are resolved. The version is set. Everything else keeps its bytes.
 *
 * *Cancellation*: cannot be cancelled; killing it is harmless.
 * *Fairness*: pins are independent of each other; a file that is being restored is waited for.
 *
 * @throws `HDL_BAD_MANIFEST`, `HDL_LOCAL_RANGE`, `HDL_STORE_FAILED`: then nothing is pinned.
 * `HDL_LOCKED` when another process uses the folder, or a file is pinned to other versions.
 * `HDL_RESTORE_CONFLICT` when a file that an earlier process left pinned was edited since, once.
 */
export async function pinInPlace(
  plan: ReleasePlan,
  packages: Iterable<PlannedPackage>,
  options: PinOptions,
): Promise<PinnedManifests> {
  const lease = await journals.use(path.resolve(options.journalFolder))
  const held = lease.value
  const taken = new Set<string>()
  try {
    for (const { file, original, pinned } of await planPins(held, plan, packages)) {
      if (taken.has(file)) continue
      await held.take(file, original, pinned)
      taken.add(file)
    }
  } catch (error) {
    const errors = await giveBackAll(held, taken)
    await lease[Symbol.asyncDispose]()
    throw errors.length === 0 ? error : firstOf([error, ...errors])
  }
  return new Pins(lease, [...taken])
}
