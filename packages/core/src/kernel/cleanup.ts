/**
 * Undoes several steps in the reverse order, also when some of the undo functions fail. Node 22 has no
 * `AsyncDisposableStack`; this is the part of it that the house needs.
 *
 * Invariants, quoted by the tests:
 *  C1  Steps are undone in reverse order, one after the other; each is undone once.
 *  C2  A failure keeps none of the others from running. One failure is thrown as it is, several as an
 *      AggregateError.
 *  C3  After `move()` the old stack undoes nothing, and the new one undoes everything.
 */
export class CleanupStack implements AsyncDisposable {
  #undo: (() => unknown)[] = []

  /** Calls this function at the end. */
  defer(undo: () => unknown): void {
    this.#undo.push(undo)
  }

  /** Disposes of this value at the end. */
  use<T extends AsyncDisposable | Disposable>(value: T): T {
    this.defer(() =>
      Symbol.asyncDispose in value ? value[Symbol.asyncDispose]() : value[Symbol.dispose](),
    )
    return value
  }

  /** A stack with everything that was added here; this one is empty afterwards. */
  move(): CleanupStack {
    const moved = new CleanupStack()
    moved.#undo = this.#undo
    this.#undo = []
    return moved
  }

  /**
   * Undoes everything. The first undo function is called before this method returns.
   *
   * *Cancellation*: none; an undo function that may take long has a deadline of its own.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = []
    for (let undo = this.#undo.pop(); undo !== undefined; undo = this.#undo.pop()) {
      try {
        await undo()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length === 1) throw failures[0]
    if (failures.length > 1) throw new AggregateError(failures, 'Several parts failed to stop.')
  }
}
