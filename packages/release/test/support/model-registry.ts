import { HeddleError } from '@heddle/core'
import type { Kernel, WaitOptions } from '@heddle/core/lowlevel'
import type { PackedPackage } from '../../src/model.ts'
import type { Registry, Standing, UploadAnswer } from '../../src/registry/registry.ts'

/** What happens to one upload. */
export type Fate =
  | 'taken'
  | 'lost-answer'
  | 'lost-request'
  | 'not-connected'
  | 'busy'
  | 'rate'
  | 'unauthorized'
  | 'poison'

export interface ModelOptions {
  readonly kernel: Kernel
  /** One for each upload; after the last one all goes well. */
  readonly fates: readonly Fate[]
  /** Which reads fail, by their number. */
  readonly failingReads?: ReadonlySet<number>
  /** Milliseconds until a version that was taken shows. */
  readonly visibleAfter?: number
  /** Another user publishes, at this time. */
  readonly other?: { readonly at: number; readonly hash: string }
}

/**
 * A registry in a few lines, to check the real client against: it has a version or not, shows it
 * after a while, takes no version twice, and loses requests and answers as the test says.
 */
export class ModelRegistry implements Registry {
  readonly ecosystem = 'npm'
  readonly url = 'https://model.example/'
  /** What was done, in order. */
  readonly history: { what: 'read' | 'upload'; at: number; says: string }[] = []
  accepted = 0
  readonly #options: ModelOptions
  #held: { hash: string; showsAt: number } | undefined
  #reads = 0
  #uploads = 0

  constructor(options: ModelOptions) {
    this.#options = options
  }

  get held(): string | undefined {
    this.#letOthersIn()
    return this.#held?.hash
  }

  async compare(packed: PackedPackage, wait: WaitOptions = {}): Promise<Standing> {
    await this.#latency(wait)
    const { clock } = this.#options.kernel
    const number = this.#reads++
    const note = (says: string): void =>
      void this.history.push({ what: 'read', at: clock.now(), says })
    if (this.#options.failingReads?.has(number) === true) {
      note('failed')
      throw unavailable('a read failed', 'not-done')
    }
    this.#letOthersIn()
    if (this.#held === undefined || this.#held.showsAt > clock.now()) {
      note('absent')
      return { is: 'absent' }
    }
    const expected = packed.artifacts[0]!.integrity
    const { hash } = this.#held
    const isOurs = hash === expected
    note(isOurs ? 'ours' : 'different')
    if (!isOurs) return { is: 'different', expected, found: hash }
    const integrity = new Map([['a.tgz', hash]])
    return { is: 'ours', found: { version: packed.version, integrity, urls: [] } }
  }

  async upload(packed: PackedPackage): Promise<UploadAnswer> {
    const fate = this.#options.fates[this.#uploads++] ?? 'taken'
    const { clock } = this.#options.kernel
    this.history.push({ what: 'upload', at: clock.now(), says: fate })
    await this.#latency({})
    if (fate === 'not-connected') throw unavailable('no server listens', 'not-done')
    if (fate === 'lost-request') throw unavailable('cut while it was sent', 'unknown')
    if (fate === 'busy') throw unavailable('Failed to save packument', 'not-done')
    const where = { registry: this.url, action: 'PUT' }
    if (fate === 'rate') {
      throw new HeddleError('HDL_REGISTRY_RATE', { ...where, tries: 1, retryAfter: 1000 })
    }
    if (fate === 'unauthorized') {
      const details = { ...where, status: 401, said: '', hint: '' }
      throw new HeddleError('HDL_REGISTRY_AUTH', details)
    }
    if (fate === 'poison') {
      throw new HeddleError('HDL_PACKAGE_REFUSED', { ...where, status: 400, said: '' })
    }
    this.#letOthersIn()
    const hash = packed.artifacts[0]!.integrity
    if (this.#held !== undefined) {
      const { name, version } = packed
      const details = { package: name, version, registry: this.url, expected: hash, found: '?' }
      if (fate === 'lost-answer') throw unavailable('the answer got lost', 'unknown')
      throw new HeddleError('HDL_VERSION_CONFLICT', details)
    }
    this.#held = { hash, showsAt: clock.now() + (this.#options.visibleAfter ?? 0) }
    this.accepted++
    if (fate === 'lost-answer') throw unavailable('the answer got lost', 'unknown')
    return {}
  }

  async read(): Promise<undefined> {
    return undefined
  }

  async tags(): Promise<ReadonlyMap<string, string>> {
    return new Map()
  }

  async setTag(): Promise<void> {}

  async deprecate(): Promise<void> {}

  async close(): Promise<void> {}

  #letOthersIn(): void {
    const { other, kernel } = this.#options
    if (other === undefined || this.#held !== undefined || kernel.clock.now() < other.at) return
    this.#held = { hash: other.hash, showsAt: other.at + (this.#options.visibleAfter ?? 0) }
  }

  #latency({ signal }: WaitOptions): Promise<void> {
    return new Promise((done, fail) => {
      const timer = this.#options.kernel.clock.setTimer(5, done)
      signal?.addEventListener('abort', () => {
        timer.cancel()
        fail(signal.reason)
      })
    })
  }
}

function unavailable(problem: string, outcome: 'unknown' | 'not-done'): HeddleError {
  const registry = 'https://model.example/'
  const details = { registry, action: 'PUT', problem, outcome, tries: 1 }
  return new HeddleError('HDL_REGISTRY_UNAVAILABLE', details)
}

/** A package that exists on paper only. */
export function paperPackage(integrity = 'sha512-ours'): PackedPackage {
  const artifact = { file: '/nowhere/a.tgz', size: 1, integrity, sha1: '', sha256: '' }
  return { name: 'a', version: '1.0.0', ecosystem: 'npm', artifacts: [artifact], manifest: {} }
}
