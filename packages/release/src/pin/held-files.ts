/**
 * Pinned files that several pins may share.
 *
 *   (absent) ──take──▶ changing ──▶ held by n ──last one gives back──▶ restoring ──▶ (absent)
 *                          └─failed─▶ (absent)        ▲                    │
 *                                                     └─could not be restored, may be tried again
 *
 * Invariants, quoted by the tests:
 *  HF1  A file is pinned by its first holder and restored by its last one, in whatever order they leave (B, B2, G).
 *  HF2  Holders of a file want the same text. Another one is refused, not mixed in.
 *  HF3  Who wants a file that is being restored waits until it is, and pins the original.
 *
 * State changes between awaits only (law 1): reading an entry and changing it are one step.
 */
import { HeddleError, isError } from '@heddle/core'
import type { ChangedFile, RestoreRegistry } from '@heddle/core/lowlevel'

interface Held {
  readonly original: string
  readonly pinned: string
  readonly change: Promise<ChangedFile>
  holders: number
  restoring: Promise<void> | undefined
}

export class HeldFiles {
  readonly registry: RestoreRegistry
  /** Keyed by path without symbolic links. */
  readonly #held = new Map<string, Held>()

  constructor(registry: RestoreRegistry) {
    this.registry = registry
  }

  /** What a pinned file contained before; undefined when it is not pinned. */
  original(file: string): string | undefined {
    return this.#held.get(file)?.original
  }

  /** @throws `HDL_LOCKED` when it is pinned to something else (HF2); `HDL_STORE_FAILED`. */
  async take(file: string, original: string, pinned: string): Promise<void> {
    for (let held = this.#held.get(file); held?.restoring; held = this.#held.get(file)) {
      await held.restoring.catch(() => undefined)
    }
    let held = this.#held.get(file)
    if (held === undefined) {
      const change = this.registry.change(file, pinned)
      held = { original, pinned, change, holders: 0, restoring: undefined }
      this.#held.set(file, held)
    } else if (held.pinned !== pinned) {
      throw new HeddleError('HDL_LOCKED', { path: file, holder: 'a pin to other versions' })
    }
    held.holders++
    try {
      await held.change
    } catch (error) {
      if (this.#held.get(file) === held) this.#held.delete(file)
      throw error
    }
  }

  /** @throws `HDL_RESTORE_CONFLICT`, after which it is not held any more; `HDL_STORE_FAILED`. */
  async giveBack(file: string): Promise<void> {
    const held = this.#held.get(file)!
    if (held.holders > 1) {
      held.holders--
      return
    }
    held.restoring ??= this.#restore(file, held)
    await held.restoring
  }

  async #restore(file: string, held: Held): Promise<void> {
    try {
      const change = await held.change
      await change.restore()
    } catch (error) {
      if (!isError(error, 'HDL_RESTORE_CONFLICT')) {
        held.restoring = undefined
        throw error
      }
      this.#held.delete(file)
      throw error
    }
    this.#held.delete(file)
  }
}
