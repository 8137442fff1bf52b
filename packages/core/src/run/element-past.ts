/** Work of earlier processes on the elements of a map, read from their rows. */
import { elementIndexOf, hasElementKey } from '../attempts/part-path.ts'
import type { ErrorRecord, PartEntry } from '../journal/journal.ts'
import { IndexRanges } from './index-ranges.ts'

/** Reads the rows of a node's parts, from after a row. */
export type ReadParts = (options: {
  readonly from: number
  readonly values: boolean
}) => AsyncIterable<PartEntry>

export class ElementPast {
  readonly #indexes = new IndexRanges()
  readonly #keys = new Set<string>()
  readonly #values = new Map<string, unknown>()
  readonly #failures = new Map<string, ErrorRecord>()
  readonly #steps = new Map<string, PartEntry[]>()
  /** How often elements were started by processes that ended while they ran. */
  readonly #interruptions = new Map<string, number>()
  readonly #keepsValues: boolean
  #firstStep = Infinity

  private constructor(keepsValues: boolean) {
    this.#keepsValues = keepsValues
  }

  /**
   * Reads the rows once, and once more the rows of steps where the values of elements are not kept.
   *
   * *Cancellation*: none; it reads the current state, a page at a time.
   */
  static async read(parts: ReadParts, keepsValues: boolean): Promise<ElementPast> {
    const past = new ElementPast(keepsValues)
    for await (const entry of parts({ from: 0, values: keepsValues })) past.#add(entry)
    if (!keepsValues && past.#steps.size > 0) await past.#readSteps(parts)
    return past
  }

  /** How many ranges of finished elements are kept. */
  get ranges(): number {
    return this.#indexes.ranges
  }

  get hasFailures(): boolean {
    return this.#failures.size > 0
  }

  hasSucceeded(path: string): boolean {
    return hasElementKey(path) ? this.#keys.has(path) : this.#indexes.has(elementIndexOf(path))
  }

  /** What an element returned. It is not kept any longer. */
  takeValue(path: string): unknown {
    const value = this.#values.get(path)
    this.#values.delete(path)
    return value
  }

  failureOf(path: string): ErrorRecord | undefined {
    return this.#failures.get(path)
  }

  /** How often the process has ended while the element ran, without another end of it in between (R6). */
  interruptionsOf(path: string): number {
    return this.#interruptions.get(path) ?? 0
  }

  /** The rows of the steps of an element that has not ended. */
  stepsOf(path: string): readonly PartEntry[] {
    return this.#steps.get(path) ?? []
  }

  #add(entry: PartEntry): void {
    const { path } = entry.part
    if (path === '') return this.#fall(entry)
    const slash = path.indexOf('/')
    if (slash >= 0) return this.#addStep(path.slice(0, slash), entry)
    // Two starts without an end between them are those of two processes.
    if (entry.state === 'running') this.#interruptions.set(path, this.interruptionsOf(path) + 1)
    else this.#interruptions.delete(path)
    if (entry.state === 'failed') {
      this.#failures.set(path, entry.error ?? { name: 'Error', message: 'unknown' })
    }
    if (entry.state !== 'succeeded') return
    this.#failures.delete(path)
    this.#steps.delete(path)
    if (hasElementKey(path)) this.#keys.add(path)
    else this.#indexes.add(elementIndexOf(path))
    if (this.#keepsValues) this.#values.set(path, entry.value)
  }

  #addStep(element: string, entry: PartEntry): void {
    this.#firstStep = Math.min(this.#firstStep, entry.position)
    const rows = this.#steps.get(element)
    if (rows === undefined) this.#steps.set(element, [entry])
    else rows.push(entry)
  }

  #fall({ state }: PartEntry): void {
    this.#failures.clear()
    this.#interruptions.clear()
    if (state === 'skipped') {
      this.#indexes.clear()
      this.#keys.clear()
      this.#values.clear()
      this.#steps.clear()
      return
    }
    for (const [element, rows] of this.#steps) {
      this.#steps.set(
        element,
        rows.filter(({ state: how }) => how !== 'failed' && how !== 'running'),
      )
    }
  }

  async #readSteps(parts: ReadParts): Promise<void> {
    const wanted = new Map<number, PartEntry[]>()
    for (const rows of this.#steps.values()) for (const row of rows) wanted.set(row.position, rows)
    for (const rows of this.#steps.values()) rows.length = 0
    for await (const entry of parts({ from: this.#firstStep - 1, values: true })) {
      wanted.get(entry.position)?.push(entry)
    }
  }
}
