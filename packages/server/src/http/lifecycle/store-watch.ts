/**
 * Whether what is acknowledged can still be written down.
 *
 *   fine ── a write has failed (disk full, file gone) ─▶ failed
 *
 * A journal that has failed once stays failed, so that no gap can be in its history: only a new start helps.
 * The server goes on with what it has, because answers that need no store are still good; operators are
 * told by `/readyz`, `/metrics`, the log and the exit code, and decide when it is stopped.
 */
import type { Journal } from '@heddle/core/lowlevel'

export class StoreWatch {
  readonly #journal: Pick<Journal, 'stats'>
  readonly #onFailed: () => void
  #isFailed = false

  /** @param onFailed Told once, when it is first seen. */
  constructor(journal: Pick<Journal, 'stats'>, onFailed: () => void) {
    this.#journal = journal
    this.#onFailed = onFailed
  }

  /** Whether it has failed. The journal tells nobody by itself: whoever has reason to looks. */
  look(): boolean {
    if (this.#isFailed || !this.#journal.stats().failed) return this.#isFailed
    this.#isFailed = true
    this.#onFailed()
    return true
  }
}
