import { createHash, type Hash } from 'node:crypto'
import { HeddleError } from '../errors.ts'
import type { ArtifactInfo, ArtifactQuota } from './artifact-store.ts'
import type { CheckedPut } from './check-artifact.ts'

/** The usage of a run's artifacts, including those that are being written (F3). */
export class Budget {
  readonly #run: string
  bytes = 0
  count = 0
  /** Names of artifacts that are being replaced: the bytes of each count for one put at a time. */
  readonly #replaced = new Set<string>()

  constructor(run: string) {
    this.#run = run
  }

  /** @throws `HDL_ARTIFACT_QUOTA`; then nothing was taken. */
  take({ bytes, count }: ArtifactQuota, more: Partial<ArtifactQuota>): void {
    const { bytes: moreBytes = 0, count: moreCount = 0 } = more
    if (moreBytes > 0 && this.bytes + moreBytes > bytes) throw this.#full(`${bytes} bytes`)
    if (this.count + moreCount > count) throw this.#full(`${count} artifacts`)
    this.bytes += moreBytes
    this.count += moreCount
  }

  /** Whether this many bytes would be refused. */
  check({ bytes }: ArtifactQuota, more: number): void {
    if (more > 0 && this.bytes + more > bytes) throw this.#full(`${bytes} bytes`)
  }

  giveBack({ bytes = 0, count = 0 }: Partial<ArtifactQuota>): void {
    this.bytes -= bytes
    this.count -= count
  }

  /** The bytes that a put need not take, because the artifact that it replaces has them. */
  startReplacing(name: string, length: number): number {
    if (length === 0 || this.#replaced.has(name)) return 0
    this.#replaced.add(name)
    return length
  }

  endReplacing(name: string): void {
    this.#replaced.delete(name)
  }

  #full(quota: string): HeddleError {
    return new HeddleError('HDL_ARTIFACT_QUOTA', { run: this.#run, quota })
  }
}

/** Counts and hashes the bytes of one artifact on their way into a store. Without a budget the store keeps the quota itself. */
export class Intake {
  readonly #name: string
  readonly #put: CheckedPut
  readonly #budget: Budget | undefined
  readonly #hash: Hash = createHash('sha256')
  /** Bytes that need not be taken from the budget. */
  readonly #credit: number
  length = 0
  /** Bytes that were taken from the budget for this put. */
  taken = 0
  /** More bytes have come than were announced. */
  isTooLong = false

  constructor(name: string, put: CheckedPut, budget: Budget | undefined, credit = 0) {
    this.#name = name
    this.#put = put
    this.#budget = budget
    this.#credit = credit
    // Checks at the door, where the length is known.
    if (put.length !== undefined) {
      budget?.check(put.quota, Math.max(0, put.length - put.start - credit))
    }
  }

  /** Bytes that an earlier put has brought: the budget has them. */
  addReceived(piece: Uint8Array): void {
    this.#hash.update(piece)
    this.length += piece.length
  }

  /** @throws `HDL_ARTIFACT_QUOTA`, `HDL_ARTIFACT_MISMATCH`. */
  add(piece: Uint8Array): void {
    const { length: announced, quota } = this.#put
    if (announced !== undefined && this.length + piece.length > announced) {
      this.isTooLong = true
      throw this.#mismatch(`${announced} bytes`, 'more')
    }
    const bytes = Math.min(piece.length, Math.max(0, this.length + piece.length - this.#credit))
    this.#budget?.take(quota, { bytes })
    this.taken += bytes
    this.#hash.update(piece)
    this.length += piece.length
  }

  /** @throws `HDL_ARTIFACT_MISMATCH`. */
  finish(): { readonly length: number; readonly sha256: string } {
    const { length, sha256 } = this.#put
    if (length !== undefined && this.length !== length) {
      throw this.#mismatch(`${length} bytes`, `${this.length}`)
    }
    const found = this.#hash.digest('hex')
    if (sha256 !== undefined && found !== sha256) {
      throw this.#mismatch(`SHA-256 ${sha256}`, found)
    }
    return { length: this.length, sha256: found }
  }

  #mismatch(expected: string, found: string): HeddleError {
    return new HeddleError('HDL_ARTIFACT_MISMATCH', { artifact: this.#name, expected, found })
  }
}

/** Checks the bytes of an artifact while the whole of it is read (F5). */
export class ReadCheck {
  readonly #hash: Hash = createHash('sha256')

  add(piece: Uint8Array): void {
    this.#hash.update(piece)
  }

  holds(sha256: string): boolean {
    return this.#hash.digest('hex') === sha256
  }
}

export function damaged({ run, name }: ArtifactInfo, problem: string): HeddleError {
  return new HeddleError('HDL_ARTIFACT_DAMAGED', { run, artifact: name, problem })
}
