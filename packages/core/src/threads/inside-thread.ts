/**
 * Facts about the current thread, for code that does not know which copy of the package
 * started that thread: several copies in one program share them through a global symbol.
 */

/** Set by the thread's entry. */
export interface Inside {
  /** Whether the caller was called, however indirectly, by a running job. */
  inJob(): boolean
  /** A main program has reached the point where it starts its work. */
  parked(): void
}

const key = Symbol.for('heddle.thread')
const globals = globalThis as { [key]?: Inside | undefined }

export function enterThread(inside: Inside): void {
  globals[key] = inside
}

/**
 * Whether the caller is a main program that a thread has loaded for its jobs.
 *
 * A program may define its jobs and run them in one file. A thread that imports the file for a job
 * would start the whole program again; so whatever starts work asks here first and, when the answer
 * is yes, returns a promise that never settles. The rest of the program then does not happen in the
 * thread, while the jobs it has defined do.
 */
export function parkedInThread(): boolean {
  const inside = globals[key]
  if (inside === undefined || inside.inJob()) return false
  inside.parked()
  return true
}
