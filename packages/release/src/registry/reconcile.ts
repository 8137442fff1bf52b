/**
 * Publishing a version once, whatever happens on the way.
 *
 * ```
 *   look ──ours──────────────────────────────▶ already-published | published
 *    │   ──different─────────────────────────▶ HDL_VERSION_CONFLICT
 *    │ absent, or some files missing
 *    ▼
 *   upload ──taken by the registry───────────▶ accepted
 *    │ failed
 *    ▼
 *   look again ──ours, different─────────────▶ as above
 *    │ absent
 *    ├─ refused for good (auth, poison) ─────▶ that error
 *    ├─ "it is there already" ───────────────▶ keep looking; then accepted-not-visible | HDL_VERSION_CONFLICT
 *    ├─ certainly not done ──────────────────▶ wait, look, upload again
 *    └─ perhaps done ────────────────────────▶ keep looking, then upload again
 * ```
 *
 * Invariants, quoted by the tests:
 *  R1  Each upload follows a read that did not find the version (or these files of it), and nothing
 *      is awaited between the two but the caller's own note that it begins.
 *  R2  After an upload that may have happened, absence is not proof: reads continue for `settle`
 *      milliseconds before there is another upload.
 *  R3  It ends well only if the registry took an upload of ours, or a read found our hashes, or the
 *      registry says that it has the version after an upload of ours that may have happened.
 *  R4  There is no upload after one that was refused for good, nor once the version has been seen.
 *  R5  No more than `tries` uploads, not counting those refused for their rate: of these there
 *      are no more than a dozen.
 *  R6  Other content under our version is always a conflict.
 *  R7  The error is that of the last upload; `errors` has all of them.
 *
 * Why reads decide and not answers: the answer to an upload can be lost, late or wrong ("504" after
 * the registry saved it, "409" although it did not). Its content is the one fact that a rerun, and
 * every installer, will see as well.
 *
 * Known limits: a registry that shows a version only after more than `settle` gets a second upload,
 * which it refuses. Two different archives for one version, uploaded at the same moment, are distinguished
 * by the registry alone.
 */
import { HeddleError, isError } from '@heddle/core'
import { type Kernel, Patience, systemKernel } from '@heddle/core/lowlevel'
import type { PackedPackage } from '../model.ts'
import { classOf, mayHaveHappened, mayPass } from './error-class.ts'
import { defaultBackoff, jitter, mostRefusals, type Backoff } from './http/backoff.ts'
import type { Registry, Standing, UploadOptions } from './registry.ts'

export interface PublishOptions extends Omit<UploadOptions, 'files' | 'stage'> {
  /** Uploads, at most, those not counted that were refused for their rate. Default 4. */
  readonly tries?: number
  readonly backoff?: Backoff
  /** Milliseconds for which absence is not proof after an upload that may have happened. Default 20 s. */
  readonly settle?: number
  /** Whether an earlier run began an upload of this version and does not know how it ended. */
  readonly uploadBegun?: boolean
  /** Called when an upload has failed, with what is done about it: before it is done. */
  readonly onFailure?: (failure: UploadFailure) => void
  /** Called before each upload, so that a journal can note that it begins. `attempt` counts from 0. */
  readonly onUpload?: (attempt: number) => void | Promise<void>
  readonly kernel?: Kernel
}

/** An upload that failed, and what comes next. */
export interface UploadFailure {
  readonly error: unknown
  /** `look`: it may have arrived, so the registry is read for a time. `upload`: it is uploaded again after a pause. */
  readonly next: 'look' | 'upload'
  /** Milliseconds that the reads may take, or the pause. */
  readonly for: number
}

export interface PublishResult {
  readonly outcome:
    /** It was there with our hashes before this call uploaded anything. */
    | 'already-published'
    /** A read found it with our hashes after an upload whose answer did not say so. */
    | 'published'
    /** The registry took the upload. Its visibility has not been checked. */
    | 'accepted'
    /** The registry says that it has the version, and does not show it yet. */
    | 'accepted-not-visible'
  /** How often this call uploaded. */
  readonly uploads: number
  /** What went wrong on the way. */
  readonly errors: readonly unknown[]
}

/** The longest pause between two reads that wait for an upload to show. */
const longestGap = 10_000

/**
 * Publishes a version, unless the registry has it.
 *
 * *Cancellation*: the version may have been published; ask again with `uploadBegun`.
 * *Fairness*: nothing is held between two requests.
 * @throws `HDL_VERSION_CONFLICT`, `HDL_REGISTRY_AUTH`, `HDL_PACKAGE_REFUSED`; after the last try
 * `HDL_REGISTRY_UNAVAILABLE` or `HDL_REGISTRY_RATE`.
 * @example
 * const { outcome } = await publishOnce(registry, packed, { distTag: 'latest', signal })
 */
export async function publishOnce(
  registry: Registry,
  packed: PackedPackage,
  options: PublishOptions,
): Promise<PublishResult> {
  return new Publication(registry, packed, options).run()
}

class Publication {
  readonly #registry: Registry
  readonly #packed: PackedPackage
  readonly #options: PublishOptions
  readonly #kernel: Kernel
  readonly #patience: Patience
  readonly #settle: number
  readonly #errors: unknown[] = []
  #uploads = 0
  #refusals = 0
  /** Whether an upload of ours may have happened. Never false again. */
  #perhapsDone: boolean

  constructor(registry: Registry, packed: PackedPackage, options: PublishOptions) {
    this.#registry = registry
    this.#packed = packed
    this.#options = options
    this.#kernel = options.kernel ?? systemKernel
    this.#patience = new Patience(
      `publishing ${packed.name}@${packed.version}`,
      this.#kernel.clock,
      options,
    )
    this.#settle = options.settle ?? 20_000
    this.#perhapsDone = options.uploadBegun === true
  }

  async run(): Promise<PublishResult> {
    let standing = await this.#look(this.#perhapsDone ? this.#settle : 0)
    for (;;) {
      if (standing.is === 'ours') return this.#found()
      const failure = await this.#upload(standing)
      if (failure === undefined) return this.#end('accepted')
      const { error } = failure
      this.#errors.push(error)
      const kind = classOf(error)
      if (kind === undefined) throw error

      const claimsToHaveIt = kind === 'conflict'
      standing = await this.#lookAfter(error, claimsToHaveIt)
      if (standing.is === 'ours') return this.#found()
      if (claimsToHaveIt && this.#perhapsDone) return this.#end('accepted-not-visible')
      if (!mayPass(error)) throw this.#failed(error)
      if (this.#isLastTry(kind === 'rate')) throw this.#failed(error)
      const delay = this.#delay(error)
      this.#options.onFailure?.({ error, next: 'upload', for: delay })
      // The client holds all requests back after a refused rate: this one's read waits there too.
      if (kind !== 'rate') await this.#patience.pause(delay)
      standing = await this.#look(0)
    }
  }

  /** One upload. Undefined when the registry took it. */
  async #upload(
    standing: Exclude<Standing, { is: 'ours' }>,
  ): Promise<{ readonly error: unknown } | undefined> {
    const { distTag, access, otp, provenance, provenanceFile, gitHead, onUpload } = this.#options
    const wanted = {
      distTag,
      ...(access === undefined ? {} : { access }),
      ...(otp === undefined ? {} : { otp }),
      ...(provenanceFile === undefined ? {} : { provenanceFile }),
      ...(gitHead === undefined ? {} : { gitHead }),
      ...(provenance === undefined ? {} : { provenance }),
      ...(standing.is === 'partial' ? { files: standing.missing } : {}),
    }
    await onUpload?.(this.#uploads)
    this.#patience.check()
    this.#uploads++
    try {
      await this.#registry.upload(this.#packed, { ...wanted, ...this.#patience.options })
      return undefined
    } catch (error) {
      if (mayHaveHappened(error)) this.#perhapsDone = true
      return { error }
    }
  }

  /** What the registry holds after a failed upload. When that cannot be read, the upload's error counts. */
  async #lookAfter(error: unknown, claimsToHaveIt: boolean): Promise<Standing> {
    const keepLooking = claimsToHaveIt || mayHaveHappened(error)
    if (keepLooking) this.#options.onFailure?.({ error, next: 'look', for: this.#settle })
    try {
      return await this.#look(keepLooking ? this.#settle : 0)
    } catch (readError) {
      const kind = classOf(readError)
      if (kind === undefined || kind === 'conflict') throw readError
      this.#errors.push(readError)
      throw this.#failed(error)
    }
  }

  /**
   * Reads, and continues to read for `window` milliseconds while the version is not there. Reads that
   * fail for a time do not end it, unless it is the last one.
   */
  async #look(window: number): Promise<Standing> {
    const { clock } = this.#kernel
    const until = clock.now() + window
    for (let reads = 0; ; reads++) {
      let standing: Standing = { is: 'absent' }
      try {
        standing = await this.#registry.compare(this.#packed, this.#patience.options)
      } catch (error) {
        if (!mayPass(error) || clock.now() >= until) throw error
      }
      if (standing.is === 'different') throw this.#conflict(standing)
      const left = until - clock.now()
      if (standing.is === 'ours' || left <= 0) return standing
      await this.#patience.pause(Math.min(defaultBackoff.base * 2 ** reads, longestGap, left))
    }
  }

  /** Refused rates have a limit of their own: they are about the run and not about this upload. */
  #isLastTry(isRefusedRate: boolean): boolean {
    if (isRefusedRate) return ++this.#refusals >= mostRefusals
    return this.#uploads - this.#refusals >= (this.#options.tries ?? 4)
  }

  #delay(error: unknown): number {
    const asksFor = error instanceof HeddleError ? error.retryAfter : undefined
    const { backoff = defaultBackoff } = this.#options
    return asksFor ?? jitter(this.#uploads - this.#refusals - 1, this.#kernel.random, backoff)
  }

  #found(): PublishResult {
    const isOurs = this.#uploads > 0 || this.#perhapsDone
    return this.#end(isOurs ? 'published' : 'already-published')
  }

  #end(outcome: PublishResult['outcome']): PublishResult {
    return { outcome, uploads: this.#uploads, errors: this.#errors }
  }

  #conflict({ expected, found }: Standing & { is: 'different' }): HeddleError {
    const { name, version } = this.#packed
    const { url } = this.#registry
    return new HeddleError(
      'HDL_VERSION_CONFLICT',
      { package: name, version, registry: url, expected, found },
      { errors: this.#errors },
    )
  }

  #failed(error: unknown): unknown {
    if (this.#errors.length < 2) return error
    if (isError(error, 'HDL_REGISTRY_UNAVAILABLE') || isError(error, 'HDL_REGISTRY_RATE')) {
      const details = { ...error.details, tries: this.#uploads } as never
      return new HeddleError(error.code, details, { cause: error, errors: this.#errors })
    }
    if (!(error instanceof HeddleError)) return error
    const { code, details } = error
    return new HeddleError(code, details, { cause: error, errors: this.#errors })
  }
}
