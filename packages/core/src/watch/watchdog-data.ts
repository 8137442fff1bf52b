/** What the loop and the watchdog's thread agree on. */

/** Changes with every beat; the thread sleeps on it. */
export const beatWord = 0
/** 1 when the thread shall end. */
export const stopWord = 1
/** 1 from the moment the thread finds the loop late until the next beat. */
export const lateWord = 2
export const wordCount = 3

export interface WatchdogData {
  readonly words: Int32Array<SharedArrayBuffer>
  /** Milliseconds without a beat after which the loop counts as stuck. */
  readonly patience: number
  /** An expression for the function to call on the main thread with the number of the last beat. */
  readonly question: string
}

/** The thread's only message: it watches, or cannot and why. */
export interface WatchdogNotice {
  readonly blind?: string
}
