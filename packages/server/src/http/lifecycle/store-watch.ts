/**
 * Whether acknowledged work can still be recorded.
 *
 *   fine ── a write has failed (disk full, file gone) ─▶ failed
 *
 * A journal that has failed once stays failed, so that no gap can be in its history: only a new start helps.
 * The server continues without the store, because answers that need no store are still good; operators
 * see it in `/readyz`, `/metrics`, the log and the exit code, and decide when it is stopped.
 */
import type { Journal, Shards } from '@heddle/core/lowlevel'

export class StoreWatch {
  readonly #journal: Pick<Journal, 'stats'>
  readonly #committer: Pick<Shards['committer'], 'stats'> | undefined
  readonly #onFailed: () => void
  #isFailed = false

  /**
   * @param committer Absent when other servers take over shards that this one cannot write.
   * @param onFailed Called once, when it is first seen.
   */
  constructor(
    journal: Pick<Journal, 'stats'>,
    committer: Pick<Shards['committer'], 'stats'> | undefined,
    onFailed: () => void,
  ) {
    this.#journal = journal
    this.#committer = committer
    this.#onFailed = onFailed
  }

  /** Whether it has failed. The journal does not report it by itself: callers that depend on it look. */
  look(): boolean {
    if (this.#isFailed) return true
    const unwritten = this.#committer?.stats().failed ?? 0
    if (unwritten === 0 && !this.#journal.stats().failed) return false
    this.#isFailed = true
    this.#onFailed()
    return true
  }
}
