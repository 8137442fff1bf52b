/**
 * Links by which a person without an account answers a run that waits (`ctx.waitFor('approval')`).
 *
 *   made ── GET (shows the page, changes nothing) ──▶ made ── POST ──▶ used (the record is gone)
 *     └── its time is over ──▶ refused
 *
 *  A1  A link sends one signal: if two answers come at the same moment, one is refused.
 *  A2  Opening a link does not use it up: mail programs open links too.
 *  A3  The store has the hash of a link only.
 *  A4  An answer that cannot be delivered (the store is away) leaves the link as it was.
 */
import { HeddleError } from '@heddle/core'
import { erase, write, type Tables } from '@heddle/core/lowlevel'
import { newSecret, sha256 } from '../people/secrets.ts'
import { approvals, type ApprovalRecord } from './runs-tables.ts'

export interface ApprovalLinksOptions {
  readonly tables: Tables
  /** Delivers the answer. */
  readonly send: (run: string, signal: string, value: string, by: string) => Promise<void>
}

export interface LinkRequest {
  readonly run: string
  readonly signal: string
  readonly text: string
  readonly choices: readonly string[]
  /** Milliseconds. */
  readonly expiresIn: number
  readonly by: string
}

const sweepEvery = 600_000

export class ApprovalLinks {
  readonly #options: ApprovalLinksOptions
  #sweptAt = -Infinity

  constructor(options: ApprovalLinksOptions) {
    this.#options = options
  }

  /** The secret part of a new link. *Cancellation*: none. */
  async make(
    request: LinkRequest,
  ): Promise<{ readonly secret: string; readonly expiresAt: number }> {
    const { tables } = this.#options
    const now = await tables.now()
    if (now - this.#sweptAt > sweepEvery) {
      this.#sweptAt = now
      await tables.removeBelow(approvals, 'expiresAt', now)
    }
    const { run, signal, text, choices, expiresIn, by } = request
    const secret = newSecret()
    const expiresAt = now + expiresIn
    const record: ApprovalRecord = {
      id: sha256(secret),
      run,
      signal,
      text,
      choices: [...choices],
      createdBy: by,
      expiresAt,
    }
    await tables.change([write(approvals, record, 'absent')])
    return { secret, expiresAt }
  }

  /** A2. @throws `HDL_BAD_LINK` for one that was used, is too old, or never existed. */
  async look(secret: string): Promise<ApprovalRecord> {
    return this.#find(secret)
  }

  /** A1, A4. @throws `HDL_BAD_LINK`; `HDL_BAD_INPUT` for another answer; `HDL_RUN_ENDED`, `HDL_STORE_FAILED`. */
  async answer(secret: string, value: string): Promise<ApprovalRecord> {
    const { tables, send } = this.#options
    const { revision, ...record } = await this.#find(secret)
    const { id, run, signal, choices, createdBy } = record
    if (!choices.includes(value)) {
      throw new HeddleError('HDL_BAD_INPUT', {
        what: 'value',
        problem: `expected one of ${choices.join(', ')}.`,
      })
    }
    const refused = await tables.change([erase(approvals, id, revision)])
    if (refused !== undefined) throw new HeddleError('HDL_BAD_LINK', {})
    try {
      await send(run, signal, value, `approval link of ${createdBy}`)
    } catch (error) {
      await tables.change([write(approvals, record, 'absent')])
      throw error
    }
    return record
  }

  async #find(secret: string): Promise<ApprovalRecord & { readonly revision: number }> {
    const { tables } = this.#options
    const [found] = await tables.byIds(approvals, [sha256(secret)])
    if (found !== undefined && found.expiresAt > (await tables.now())) return found
    throw new HeddleError('HDL_BAD_LINK', {})
  }
}
