import { Worker } from 'node:worker_threads'

const entry = new URL('tree-memory-thread.ts', import.meta.url)

/**
 * The most memory that this process and its children hold together, in MB, looked at every 20 ms. A
 * compiler or a linter that is a process of its own is memory of the user all the same.
 */
export class TreeMemory {
  readonly #words: Int32Array
  readonly #thread: Worker

  constructor() {
    const shared = new SharedArrayBuffer(8)
    this.#words = new Int32Array(shared)
    this.#thread = new Worker(entry, { workerData: { pid: process.pid, shared } })
    this.#thread.unref()
  }

  /** Ends the looking. */
  stop(): number {
    Atomics.store(this.#words, 1, 1)
    Atomics.notify(this.#words, 1)
    // A run may be over before the first sample.
    return Math.max(Atomics.load(this.#words, 0), process.resourceUsage().maxRSS) / 1024
  }
}
