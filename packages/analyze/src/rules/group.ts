import type { Location } from '../ir/locations.ts'
import type { FunctionUnit } from '../ir/program.ts'
import { isStore } from '../summaries/effects.ts'
import type { Located } from '../summaries/uses.ts'
import { isOwnVariable, isRepeated } from '../ir/own-variable.ts'
import { isShared } from './shared.ts'

/** The accesses of one location in one host, in the order of its graph, and the events among them. */
export class Group {
  readonly location: Location
  readonly accesses: Located[]
  /** A read that decides a branch. */
  isChecked = false
  isWritten = false
  /** A write that stores something. */
  isStored = false
  #isShared: boolean | undefined

  constructor(location: Location, first: Located) {
    this.location = location
    this.accesses = [first]
    this.#note(first)
  }

  add(located: Located): void {
    this.accesses.push(located)
    this.#note(located)
  }

  #note({ access }: Located): void {
    if (access.op === 'read') {
      if (access.checks.length > 0) this.isChecked = true
      return
    }
    this.isWritten = true
    if (isStore(access)) this.isStored = true
  }

  /** Two tasks can meet at it. Most rules ask. */
  isSharedIn(host: FunctionUnit): boolean {
    return (this.#isShared ??= this.#decide(host))
  }

  #decide(host: FunctionUnit): boolean {
    const isOwn = isOwnVariable(this.location, host)
    if (!isShared(this.location, host) && !(isOwn && this.location.scope === 'entry')) return false
    return !isOwn || this.accesses.some(({ access }) => isRepeated(access))
  }

  /** The accesses at which two runs of the same code can meet. */
  accessesOfMany(host: FunctionUnit): readonly Located[] {
    return isOwnVariable(this.location, host)
      ? this.accesses.filter(({ access }) => isRepeated(access))
      : this.accesses
  }
}
