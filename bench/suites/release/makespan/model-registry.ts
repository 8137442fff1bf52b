import type { PackedPackage, Registry, Standing, VersionOnRegistry } from '@heddle/release'
import type { Clock } from '@heddle/core/lowlevel'
import { uploadTime } from '../conditions.ts'
import type { ReleaseModel } from './model.ts'

/** A registry in virtual time: uploads take their time, and versions show later than they are taken. */
export class ModelRegistry implements Registry {
  readonly ecosystem = 'npm'
  readonly url = 'http://model'
  readonly #clock: Clock
  readonly #visibility: ReadonlyMap<string, number>
  readonly #showAt = new Map<string, number>()

  constructor(model: ReleaseModel, clock: Clock) {
    this.#clock = clock
    this.#visibility = new Map(model.packages.map(({ name, visibility }) => [name, visibility]))
  }

  read(name: string, version: string): Promise<VersionOnRegistry | undefined> {
    const isThere = this.#clock.now() >= (this.#showAt.get(name) ?? Infinity)
    return Promise.resolve(isThere ? { version, integrity: new Map(), urls: [] } : undefined)
  }

  async compare({ name, version }: PackedPackage): Promise<Standing> {
    const found = await this.read(name, version)
    return found === undefined ? { is: 'absent' } : { is: 'ours', found }
  }

  async upload({ name }: PackedPackage): Promise<object> {
    await pause(this.#clock, uploadTime)
    this.#showAt.set(name, this.#clock.now() + this.#visibility.get(name)!)
    return {}
  }

  tags(): Promise<ReadonlyMap<string, string>> {
    return Promise.resolve(new Map())
  }

  setTag(): Promise<void> {
    return Promise.resolve()
  }

  deprecate(): Promise<void> {
    return Promise.resolve()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

export function pause(clock: Clock, milliseconds: number): Promise<void> {
  return new Promise((done) => void clock.setTimer(milliseconds, done))
}
