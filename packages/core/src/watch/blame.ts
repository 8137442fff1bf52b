import { AsyncLocalStorage } from 'node:async_hooks'

const labels = new AsyncLocalStorage<string>()
let watches = 0

/** Whether a {@link LoopWatch} runs in this thread: objects made only for its labels can be left out otherwise. */
export function isWatching(): boolean {
  return watches > 0
}

/** Counts one more (1) or one fewer (-1) running watch. */
export function countWatch(change: 1 | -1): void {
  watches += change
}

/**
 * Runs `work` and everything it awaits under a label that names it when it blocks the loop.
 *
 * Without a running watch it only calls `work`: such work keeps no label, also when a watch starts
 * later. The innermost label counts.
 *
 * @example
 * runBlamed('job "parse"', () => parse(text))
 */
export function runBlamed<T>(label: string, work: () => T): T {
  return watches === 0 ? work() : labels.run(label, work)
}

/** The label under which this code runs. */
export function currentBlame(): string | undefined {
  return labels.getStore()
}
