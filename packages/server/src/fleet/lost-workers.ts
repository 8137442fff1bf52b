import { soon } from '@heddle/core/lowlevel'
import type { Lease } from './lease.ts'

/** Workers that are named in one line. */
const named = 5

/** Reports leases that were lost because their workers fell silent: one line for all that a sweep finds together. */
export class LostWorkers {
  readonly #report: (text: string) => void
  /** Leases by the worker, as people know it. */
  readonly #lost = new Map<string, number>()

  constructor(report: (text: string) => void) {
    this.#report = report
  }

  add({ worker, address }: Lease): void {
    const name = `${worker.name} at ${address}`
    if (this.#lost.size === 0) soon(() => this.#flush())
    this.#lost.set(name, (this.#lost.get(name) ?? 0) + 1)
  }

  #flush(): void {
    const names = [...this.#lost.keys()]
    const leases = this.#lost.values().reduce((sum, count) => sum + count, 0)
    this.#lost.clear()
    const others = names.length > named ? ` and ${names.length - named} more` : ''
    const who = names.length === 1 ? 'Worker' : 'Workers'
    const are = names.length === 1 ? 'is' : 'are'
    const goes = leases === 1 ? '1 lease goes' : `${leases} leases go`
    this.#report(
      `${who} ${names.slice(0, named).join(', ')}${others} ${are} silent: ${goes} to other workers.`,
    )
  }
}
