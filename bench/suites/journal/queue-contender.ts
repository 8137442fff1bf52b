import type { Contender } from '../../harness/row.ts'
import type { Durability, OpenQueue } from './contract.ts'
import { Tally } from './tally.ts'

/**
 * Keeps `inFlight` jobs between "added" and "done". Whatever has got done in a turn of the loop is
 * replaced by one call with as many new jobs: the library's way to add many at once is used as far as
 * there are many.
 *
 * Two times are taken for each job: that of adding it, and that from the end of its work until it is
 * durably done. The time until a consumer takes it is in neither.
 */
export async function queueContender(
  open: OpenQueue,
  durability: Durability,
  inFlight: number,
): Promise<Contender> {
  let round: JobRound | undefined
  const queue = await open({
    durability,
    concurrency: inFlight,
    run: (job) => round?.onRun(job),
    onDone: (job) => round?.onDone(job),
  })
  let jobs = 0
  const addMany = (count: number) => queue.add(Array.from({ length: count }, () => jobs++))
  return {
    prepare: (milliseconds) => async () => {
      const tally = new Tally(milliseconds)
      round = new JobRound(tally, queue.transitions, addMany)
      await round.play(inFlight)
      return () => tally.figures()
    },
  }
}

class JobRound {
  readonly #tally: Tally
  readonly #transitions: number
  readonly #add: (count: number) => Promise<unknown>
  readonly #ended = Promise.withResolvers<void>()
  /** When the work of each job ended that is not done yet. */
  readonly #ran = new Map<number, number>()
  /** Jobs that may be added. */
  #free = 0
  /** Jobs that are not done, and calls that are not answered. */
  #pending = 0
  #isPlanned = false

  constructor(tally: Tally, transitions: number, add: (count: number) => Promise<unknown>) {
    this.#tally = tally
    this.#transitions = transitions
    this.#add = add
  }

  play(inFlight: number): Promise<void> {
    this.#free = inFlight
    this.#refill()
    return this.#ended.promise
  }

  onRun(job: number): void {
    this.#ran.set(job, performance.now())
  }

  onDone(job: number): void {
    const since = this.#ran.get(job)
    if (since === undefined) {
      this.#ended.reject(new Error(`job ${job} is done and has not run, or is done twice`))
      return
    }
    this.#ran.delete(job)
    // Adding it counts for one.
    this.#tally.acknowledge(this.#transitions - 1, since)
    this.#free++
    this.#pending--
    this.#plan()
  }

  #plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    setImmediate(() => this.#refill())
  }

  #refill(): void {
    this.#isPlanned = false
    if (this.#tally.isOver) {
      if (this.#pending === 0) this.#ended.resolve()
      return
    }
    const since = performance.now()
    const count = this.#free
    if (count === 0) return
    this.#free = 0
    this.#pending += count + 1
    this.#add(count).then(() => {
      for (let job = 0; job < count; job++) this.#tally.acknowledge(1, since)
      this.#pending--
      this.#plan()
    }, this.#ended.reject)
  }
}
