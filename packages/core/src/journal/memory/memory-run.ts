import { CountFold, ElapsedFold } from '../run-fold.ts'
import type {
  HistoryEntry,
  PartEntry,
  RunHeader,
  RunHolder,
  RunMessage,
  RunSummary,
} from '../journal.ts'
import type { RunState } from '../../scheduler/events.ts'
import { isEnd } from '../states.ts'

/** A value, as pieces of its encoded form. */
export type StoredValue = readonly Uint8Array<ArrayBuffer>[]

/** Approximate size of a row. */
const rowBytes = 100

/** The writer of a run. */
interface OpenWriter extends AsyncDisposable {
  /** Rows that wait for a large value before them. */
  readonly held: number
  receive(message: RunMessage, mail: number): void
}

/** A row without its place. */
export type Unplaced = HistoryEntry extends infer E
  ? E extends HistoryEntry
    ? Omit<E, 'position'>
    : never
  : never

/** The rows of one run, and the state derived from them. */
export class MemoryRun {
  readonly header: Pick<RunHeader, 'id' | 'key' | 'title' | 'startedAt'>
  readonly options: StoredValue
  readonly entries: HistoryEntry[] = []
  readonly #values = new Map<number, StoredValue>()
  /** The position of the last result of each node. */
  readonly #positions = new Map<string, number>()
  readonly #parts = new Map<string, PartEntry[]>()
  readonly #counts = new CountFold()
  readonly #elapsed = new ElapsedFold()
  /** Signals that no job has taken yet. */
  readonly signals = new Map<number, RunMessage>()
  #state: RunState = 'running'
  #endedAt: number | undefined
  holder: RunHolder
  writer: OpenWriter | undefined

  constructor(header: RunHeader, options: StoredValue) {
    const { id, key, title, startedAt, pid, host, command } = header
    this.header = { id, ...(key !== undefined && { key }), title, startedAt }
    this.holder = { pid, host, command }
    this.options = options
  }

  get hasEnded(): boolean {
    return isEnd(this.#state)
  }

  /** Its approximate size in memory. */
  get bytes(): number {
    let bytes = rowBytes * this.entries.length
    for (const pieces of this.#values.values()) for (const piece of pieces) bytes += piece.length
    return bytes
  }

  /** The last row. */
  get position(): number {
    return this.entries.at(-1)?.position ?? 0
  }

  add(entry: HistoryEntry, value: StoredValue | undefined): void {
    this.entries.push(entry)
    this.#elapsed.add(entry)
    switch (entry.kind) {
      case 'nodes':
        this.#counts.addNodes(entry.added)
        return
      case 'run':
        this.#state = entry.state
        this.#endedAt = isEnd(entry.state) ? entry.at : undefined
        return
      case 'node':
        this.#counts.add(entry.node, entry.state)
        if (value === undefined) return
        this.#values.set(entry.position, value)
        this.#positions.set(entry.node, entry.position)
        return
      case 'part':
        this.#addPart(entry)
        if (value !== undefined) this.#values.set(entry.position, value)
        return
      case 'log':
    }
  }

  #addPart(entry: PartEntry): void {
    const parts = this.#parts.get(entry.node)
    if (parts === undefined) this.#parts.set(entry.node, [entry])
    else parts.push(entry)
  }

  /** The rows of the parts of a node. */
  partsOf(node: string): readonly PartEntry[] {
    return this.#parts.get(node) ?? []
  }

  valueAt(position: number): StoredValue | undefined {
    return this.#values.get(position)
  }

  hasValueAt(position: number): boolean {
    return this.#values.has(position)
  }

  /** All results, in order. Those that come meanwhile are not part of it. */
  results(): (readonly [node: string, value: StoredValue])[] {
    return this.entries.flatMap((entry) => {
      const value = this.#values.get(entry.position)
      return entry.kind === 'node' && value !== undefined ? [[entry.node, value] as const] : []
    })
  }

  /** What a node returned the last time it succeeded. */
  valueOf(node: string): StoredValue | undefined {
    return this.#values.get(this.#positions.get(node) ?? -1)
  }

  summary(): RunSummary {
    const isOver = isEnd(this.#state)
    return {
      ...this.header,
      ...(this.#endedAt !== undefined && {
        endedAt: this.#endedAt,
        elapsed: this.#elapsed.elapsed,
      }),
      state: isOver || this.writer !== undefined ? this.#state : 'interrupted',
      ...this.holder,
      counts: this.#counts.counts(),
    }
  }
}
