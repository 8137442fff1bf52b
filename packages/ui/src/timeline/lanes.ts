/**
 * Bars in rows. A row is a lane of the server (the loop, a thread, a worker), or a node.
 *
 * Invariants, quoted by the tests:
 *  N1  Every bar is in exactly one row; in a row bars are in order of their start.
 *  N2  visible() gives exactly the bars of a row that touch a stretch of time.
 *  N3  barAt() gives a bar that covers the moment, else one within the tolerance, else undefined.
 */
export interface Bars {
  readonly count: number
  /** Row of each bar. */
  readonly row: ArrayLike<number>
  readonly started: ArrayLike<number>
  readonly ended: ArrayLike<number>
}

/** Bars by row, as compressed rows. */
export class Rows {
  readonly count: number
  readonly #offsets: Int32Array
  readonly #bars: Int32Array
  readonly #source: Bars
  /** The longest bar of each row: how far back to look for one that reaches into a stretch. */
  readonly #reach: Float64Array

  constructor(bars: Bars, rowCount: number) {
    const offsets = new Int32Array(rowCount + 1)
    for (let bar = 0; bar < bars.count; bar++) offsets[bars.row[bar]! + 1]!++
    for (let row = 0; row < rowCount; row++) offsets[row + 1]! += offsets[row]!
    const fill = offsets.slice(0, rowCount)
    const list = new Int32Array(bars.count)
    for (let bar = 0; bar < bars.count; bar++) list[fill[bars.row[bar]!]!++] = bar
    const reach = new Float64Array(rowCount)
    for (let row = 0; row < rowCount; row++) {
      const slice = list.subarray(offsets[row], offsets[row + 1])
      if (!isSorted(slice, bars.started)) slice.sort((a, b) => bars.started[a]! - bars.started[b]!)
      // `ended` up to each bar only grows when nothing overlaps; where it does, the longest bar says how far to look.
      for (const bar of slice)
        reach[row] = Math.max(reach[row]!, bars.ended[bar]! - bars.started[bar]!)
    }
    this.count = rowCount
    this.#offsets = offsets
    this.#bars = list
    this.#source = bars
    this.#reach = reach
  }

  /** Indexes of the bars of a row, in order. */
  barsOf(row: number): Int32Array {
    return this.#bars.subarray(this.#offsets[row], this.#offsets[row + 1])
  }

  /** Calls back with the bars of a row that touch a stretch. */
  visible(row: number, from: number, to: number, visit: (bar: number) => void): void {
    const { started, ended } = this.#source
    const end = this.#offsets[row + 1]!
    for (let i = this.#firstFrom(row, from - this.#reach[row]!); i < end; i++) {
      const bar = this.#bars[i]!
      if (started[bar]! > to) return
      if (ended[bar]! >= from) visit(bar)
    }
  }

  barAt(row: number, time: number, tolerance: number): number | undefined {
    const { started, ended } = this.#source
    let best: number | undefined
    let distance = Infinity
    this.visible(row, time - tolerance, time + tolerance, (bar) => {
      const away = Math.max(0, started[bar]! - time, time - ended[bar]!)
      if (away <= distance) {
        best = bar
        distance = away
      }
    })
    return best
  }

  #firstFrom(row: number, time: number): number {
    const { started } = this.#source
    let low = this.#offsets[row]!
    let high = this.#offsets[row + 1]!
    while (low < high) {
      const middle = (low + high) >> 1
      if (started[this.#bars[middle]!]! < time) low = middle + 1
      else high = middle
    }
    return low
  }
}

function isSorted(bars: Int32Array, started: ArrayLike<number>): boolean {
  for (let i = 1; i < bars.length; i++)
    if (started[bars[i]!]! < started[bars[i - 1]!]!) return false
  return true
}

/** Puts each bar into the row of its node; nodes are rows in order of their first start. Returns the number of rows. */
export function rowsByNode(
  node: ArrayLike<number>,
  count: number,
  row: Int32Array,
): { readonly count: number; readonly nodes: number[] } {
  const rowOf = new Map<number, number>()
  const nodes: number[] = []
  for (let bar = 0; bar < count; bar++) {
    let own = rowOf.get(node[bar]!)
    if (own === undefined) {
      own = nodes.length
      rowOf.set(node[bar]!, own)
      nodes.push(node[bar]!)
    }
    row[bar] = own
  }
  return { count: nodes.length, nodes }
}
