/* oxlint-disable node/no-sync -- a file that the kernel makes up: reading it waits for nothing */
import { closeSync, openSync, readSync } from 'node:fs'

/** The processor time of the current thread, in milliseconds since it started. */
export interface ProcessorTimes {
  /** Time on a processor. Undefined where the runtime does not say. */
  readonly ran: number | undefined
  /** Time in which it was ready to run and had no processor. Undefined where the system does not say. */
  readonly queued: number | undefined
}

/** A source of {@link ProcessorTimes}, bound to the thread that made it. */
export interface Processor extends Disposable {
  read(): ProcessorTimes
}

/** Nanoseconds on a processor, nanoseconds in the run queue, number of turns: proc_pid_schedstat. */
const schedulerFile = '/proc/thread-self/schedstat'

/** Three numbers of at most twenty digits. */
const longestLine = 64

/** Opened once: with an open file a read costs a few microseconds. */
class SystemProcessor implements Processor {
  readonly #file: number | undefined
  readonly #line = Buffer.alloc(longestLine)

  constructor() {
    try {
      this.#file = openSync(schedulerFile, 'r')
    } catch {
      // Not Linux, or reading the file is forbidden.
    }
  }

  read(): ProcessorTimes {
    if (this.#file !== undefined) {
      try {
        const length = readSync(this.#file, this.#line, 0, longestLine, 0)
        const times = parseSchedulerLine(this.#line.toString('latin1', 0, length))
        if (times !== undefined) return times
      } catch {
        // Treated like a missing file.
      }
    }
    return { ran: threadTime(), queued: undefined }
  }

  [Symbol.dispose](): void {
    if (this.#file !== undefined) closeSync(this.#file)
  }
}

/** Undefined when the kernel does not count: all is zero then. */
export function parseSchedulerLine(line: string): ProcessorTimes | undefined {
  const [ran, queued] = line.split(' ').map(Number)
  if (ran === undefined || queued === undefined || !(ran > 0) || !(queued >= 0)) return undefined
  return { ran: ran / 1e6, queued: queued / 1e6 }
}

/** Node 22 and the types of Node 24 do not have it. */
interface ProcessWithThreadTimes {
  threadCpuUsage?(): NodeJS.CpuUsage
}

function threadTime(): number | undefined {
  const usage = (process as ProcessWithThreadTimes).threadCpuUsage?.()
  return usage === undefined ? undefined : (usage.user + usage.system) / 1000
}

/** The processor times of the thread that calls this. Dispose it to close its file. */
export function openProcessor(): Processor {
  return new SystemProcessor()
}
