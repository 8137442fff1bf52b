/** The pool's measurements of one job; shared by all tasks of it. */
export interface JobRecord {
  /** How a thread knows which job is meant: a number instead of two strings per task. */
  readonly id: number
  readonly module: string
  readonly name: string
  runs: number
  /** Moving mean of the milliseconds it ran in a thread. */
  meanRun: number
  /** Moving mean of the milliseconds one task costs the loop: copying its input or its result. */
  meanLoop: number
}

/** Weight of the newest measurement. One long run among short ones is remembered for about 20. */
const newest = 0.15

/**
 * Milliseconds of work that may be on its way to one thread. Enough that a thread never waits for
 * the loop between short jobs, little enough that taking tasks back is rarely needed.
 */
export const loadBudget = 10

/** The load of a task that must be alone in its thread. */
export const wholeThread = 1e9

export class JobRecords {
  readonly #records = new Map<string, Map<string, JobRecord>>()
  #count = 0

  get(module: string, name: string): JobRecord {
    let ofModule = this.#records.get(module)
    if (ofModule === undefined) this.#records.set(module, (ofModule = new Map()))
    let record = ofModule.get(name)
    if (record === undefined) {
      record = { id: this.#count++, module, name, runs: 0, meanRun: 0, meanLoop: 0 }
      ofModule.set(name, record)
    }
    return record
  }

  *[Symbol.iterator](): IterableIterator<JobRecord> {
    for (const ofModule of this.#records.values()) yield* ofModule.values()
  }
}

export function observeRun(record: JobRecord, milliseconds: number): void {
  record.runs++
  if (record.runs === 1) record.meanRun = milliseconds
  else record.meanRun += (milliseconds - record.meanRun) * newest
}

export function observeLoop(record: JobRecord, milliseconds: number): void {
  record.meanLoop += (milliseconds - record.meanLoop) * newest
}

/** The load of one task of this job, counted against {@link loadBudget}. Unknown jobs count as long. */
export function loadOf(record: JobRecord): number {
  return record.runs === 0 ? wholeThread : record.meanRun + record.meanLoop
}
