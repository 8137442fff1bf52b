import type { RunSnapshot } from '../journal/journal.ts'

/** Which rows of the elements and steps of a node are valid (R7). */
export class ValidParts {
  /** Keyed by node: the position after which valid rows begin. */
  readonly #from = new Map<string, number>()
  readonly #end: number

  constructor(run: RunSnapshot) {
    this.#end = run.position
    for (const { name, partsFrom } of run.nodes) {
      if (partsFrom !== undefined) this.#from.set(name, partsFrom)
    }
  }

  /** Valid rows come after this position. */
  from(node: string): number {
    return this.#from.get(node) ?? 0
  }

  /** From here on none of the rows so far is valid. False when there were none. */
  invalidate(node: string): boolean {
    if (!this.#from.has(node)) return false
    this.#from.set(node, this.#end)
    return true
  }
}
