/**
 * Ends a compiler that does not answer.
 *
 * Requests to it are synchronous, so the thread that waits cannot give up by itself: another thread
 * watches a counter and kills the compiler's process when one request takes too long. The pipe then
 * ends, the request throws, and the analysis goes on without it.
 *
 *   word 0: odd while a request is under way; changes with every request
 */
import { Worker } from 'node:worker_threads'

const entry = new URL(
  import.meta.url.endsWith('.ts') ? './request-limit-thread.ts' : './request-limit-thread.js',
  import.meta.url,
)

/** What the thread gets. */
export interface RequestLimitTask {
  readonly shared: SharedArrayBuffer
  readonly pid: number
  readonly limitMs: number
}

export class RequestLimit {
  readonly #counter: Int32Array
  readonly #thread: Worker

  constructor(pid: number, limitMs: number) {
    const shared = new SharedArrayBuffer(4)
    this.#counter = new Int32Array(shared)
    const task: RequestLimitTask = { shared, pid, limitMs }
    this.#thread = new Worker(entry, { workerData: task })
    this.#thread.unref()
    // Without the watcher requests are only not limited.
    this.#thread.on('error', () => {})
  }

  /** Runs a request that must end within the limit. Not reentrant. */
  watch<T>(request: () => T): T {
    Atomics.add(this.#counter, 0, 1)
    try {
      return request()
    } finally {
      Atomics.add(this.#counter, 0, 1)
    }
  }

  close(): void {
    void this.#thread.terminate()
  }
}
