/** Rows of several runs as the parameters of `record_3`: columns, not rows. */
import { arrayWires } from '../../store/postgres/array-wire.ts'
import { toStored } from '../../store/stored-text.ts'
import type { CountFold } from '../run-fold.ts'
import type { RunHolder } from '../journal.ts'
import { checkRunState, nodeStateOf } from '../states.ts'
import { cellsPerRow, type BatchWire, type Cell, type RunChange } from '../batch.ts'
import { Kind, nodesOf } from '../rows.ts'

const runningCode = checkRunState('running')

/** A run that this process writes. */
export interface Lane {
  readonly id: string
  readonly run: number
  readonly epoch: number
  readonly period: number
  /** The last one that was used. */
  position: number
  readonly counts: CountFold
}

/** What a run says of itself from some row on. */
interface Standing {
  state: number
  endedAt: number | null
  counts: string | null
  holder: RunHolder | undefined
}

/** Characters of the descriptions of nodes in the row that begins at cell `at`. */
export function describedBy(cells: readonly Cell[], at: number): number {
  return cells[at + 1] === Kind.nodes ? (cells[at + 6] as string).length : 0
}

/** One statement's rows. */
export class RowGroup {
  readonly #lanes: Lane[] = []
  readonly #indexes = new Map<Lane, number>()
  readonly #history = arrayWires(
    'integer',
    'bigint',
    'smallint',
    'text',
    'smallint',
    'bigint',
    'double precision',
    'text',
  )
  readonly #results = arrayWires('integer', 'bigint', 'bytea', 'text')
  readonly #standings = new Map<Lane, Standing>()
  readonly #leaving: number[] = []
  readonly #taken = arrayWires('integer', 'bigint')

  #described = 0

  /** Characters of the descriptions of nodes in all its rows. */
  get described(): number {
    return this.#described
  }

  get rows(): number {
    return this.#history[0].length
  }

  /** The lane that a refused number stands for. */
  laneAt(number: number): Lane | undefined {
    return this.#lanes[number - 1]
  }

  /**
   * Adds rows of a batch, from row `from` to before row `to`. The batch's change of its run comes with its last row.
   */
  add(lane: Lane, batch: BatchWire, from: number, to: number): void {
    const index = this.#indexOf(lane)
    const first = lane.position + 1
    for (let row = from; row < to; row++) this.#addRow(index, lane, batch.rows, row * cellsPerRow)
    this.#addResults(index, batch, from, to, first)
    if (to * cellsPerRow < batch.rows.length) return
    for (const change of batch.changes) this.#change(index, lane, change)
  }

  /** Without the first one, which says whether it may have been written already. */
  parameters(isDurable: boolean): unknown[] {
    const standings: unknown[][] = [[], [], [], [], [], [], [], []]
    for (const [lane, { state, endedAt, counts, holder }] of this.#standings) {
      const stands = [this.#indexOf(lane), lane.position, state, endedAt, counts]
      for (const [column, cell] of stands.entries()) standings[column]!.push(cell)
      standings[5]!.push(holder?.pid ?? null)
      standings[6]!.push(holder === undefined ? null : toStored(holder.host))
      standings[7]!.push(holder === undefined ? null : toStored(holder.command))
    }
    return [
      isDurable,
      this.#lanes.map(({ run }) => run),
      this.#lanes.map(({ epoch }) => epoch),
      this.#lanes.map(({ period }) => period),
      ...this.#history.map((column) => column.wire()),
      ...this.#results.map((column) => column.wire()),
      ...standings,
      this.#leaving,
      ...this.#taken.map((column) => column.wire()),
    ]
  }

  #indexOf(lane: Lane): number {
    let index = this.#indexes.get(lane)
    if (index === undefined) {
      index = this.#lanes.push(lane)
      this.#indexes.set(lane, index)
    }
    return index
  }

  #addRow(index: number, lane: Lane, cells: readonly Cell[], at: number): void {
    const kind = cells[at + 1] as number
    const node = cells[at + 2] as string | null
    const state = cells[at + 3] as number | null
    const detail = cells[at + 6] as string | null
    if (kind === Kind.nodes) {
      this.#described += detail!.length
      lane.counts.addNodes(nodesOf(detail!))
    }
    if (kind === Kind.node || kind === Kind.success) lane.counts.add(node!, nodeStateOf(state))
    const [runs, positions, kinds, nodes, states, attempts, times, details] = this.#history
    runs.pushNumber(index)
    positions.pushNumber(++lane.position)
    kinds.pushNumber(kind)
    nodes.pushText(node === null ? null : toStored(node))
    states.pushNumber(state)
    attempts.pushNumber(cells[at + 4] as number | null)
    times.pushNumber(cells[at + 5] as number)
    details.pushText(detail === null ? null : toStored(detail))
  }

  #addResults(index: number, batch: BatchWire, from: number, to: number, first: number): void {
    const { results, bodies } = batch
    let start = 0
    for (let pair = 0; pair < results.length; pair += 2) {
      const row = results[pair] as number
      const stored = results[pair + 1]!
      const isHere = row >= from && row < to
      const position = first + row - from
      if (typeof stored === 'string') {
        if (isHere) this.#addResult(index, position, null, stored)
        continue
      }
      const body = bodies?.subarray(start, start + stored) ?? new Uint8Array(0)
      start += stored
      if (isHere) this.#addResult(index, position, body, null)
    }
  }

  #addResult(index: number, position: number, body: Uint8Array | null, name: string | null): void {
    const [runs, positions, bodies, names] = this.#results
    runs.pushNumber(index)
    positions.pushNumber(position)
    bodies.pushBytes(body)
    names.pushText(name)
  }

  #change(index: number, lane: Lane, change: RunChange): void {
    switch (change.type) {
      case 'open':
        // The record already names the process that runs it.
        this.#stand(lane, runningCode, null, undefined)
        return
      case 'resume':
        this.#stand(lane, runningCode, null, change.holder)
        return
      case 'state':
        this.#stand(lane, change.state, change.endedAt, undefined)
        return
      case 'leave':
        this.#leaving.push(index)
        return
      case 'taken':
        this.#taken[0].pushNumber(index)
        this.#taken[1].pushNumber(change.mail)
    }
  }

  #stand(lane: Lane, state: number, endedAt: number | null, holder: RunHolder | undefined): void {
    const counts = endedAt === null ? null : JSON.stringify(lane.counts.counts())
    const before = this.#standings.get(lane)?.holder
    this.#standings.set(lane, { state, endedAt, counts, holder: holder ?? before })
  }
}
