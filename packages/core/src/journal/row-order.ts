/**
 * Rows in the order in which they were added, although some of them take time to prepare.
 *
 *   push(row):  nothing is held ──▶ emitted at once
 *               something is held ──▶ held, until everything before it was emitted
 *   hold(row):  held until it is prepared and everything before it was emitted
 *
 *  R1  Rows are emitted in the order of push() and hold().
 *  R2  A row whose preparation fails is left out; those behind it are not held up by it any more.
 *
 * Each run has its own, so that a large result holds up only the rows of its own run.
 */
interface OrderedRow {
  /** Undefined while it is being prepared. */
  emit: (() => void) | undefined
}

export class RowOrder {
  #rows: OrderedRow[] = []

  /** Whether a row that is added now must wait. If not, the caller need not push it. */
  get isHolding(): boolean {
    return this.#rows.length > 0
  }

  /** Rows that are held. */
  get held(): number {
    return this.#rows.length
  }

  push(emit: () => void): void {
    if (this.isHolding) this.#rows.push({ emit })
    else emit()
  }

  /** Emits when `prepared` is there. Ends as what `emit` returned, or fails as `prepared` did. */
  hold<T>(prepared: Promise<T>, emit: (value: T) => Promise<void>): Promise<void> {
    const row: OrderedRow = { emit: undefined }
    const outcome = Promise.withResolvers<void>()
    this.#rows.push(row)
    const fill = (end: () => void): void => {
      row.emit = end
      this.#release()
    }
    prepared.then(
      (value) => fill(() => outcome.resolve(emit(value))),
      (error) => fill(() => outcome.reject(error)),
    )
    return outcome.promise
  }

  #release(): void {
    let ready = 0
    // Read again each time: an emitted row may cause further rows.
    for (let row = this.#rows[0]; row?.emit !== undefined; row = this.#rows[++ready]) {
      row.emit()
    }
    this.#rows = this.#rows.slice(ready)
  }
}
