/**
 * The watchdog's thread: sleeps until the loop's next beat, and samples the loop when it is late.
 *
 * It has no clock. It sleeps on the word that the beat changes, so that "late" is the sleep's own
 * timeout, and costs one wake-up per beat.
 *
 * A look is one `Runtime.evaluate` on the main thread. V8 runs it as an interrupt on top of the
 * code that is stuck: the stack below it is the guilty one, and the async context is the guilty
 * one's too. Nothing is ever paused, so nothing can be left paused, and no port is opened. Prior
 * art pauses the main thread with the debugger instead: docs/decisions/0030 compares the two.
 *
 * It connects for each sample: with a session that stays open, process.exit() would print "Waiting
 * for the debugger to disconnect". Connecting takes half a millisecond.
 */
import { Session } from 'node:inspector/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { describe } from '../errors.ts'
import {
  beatWord,
  lateWord,
  stopWord,
  type WatchdogData,
  type WatchdogNotice,
} from './watchdog-data.ts'

const { words, patience, question } = workerData as WatchdogData
const port = parentPort!

async function evaluateOnMainThread(expression: string): Promise<void> {
  const session = new Session()
  session.connectToMainThread()
  try {
    await session.post('Runtime.evaluate', { expression, silent: true })
  } finally {
    session.disconnect()
  }
}

/** The first evaluation takes longer than all later ones, and shows whether it is possible at all. */
async function tryOut(): Promise<WatchdogNotice> {
  try {
    await evaluateOnMainThread('0')
    return {}
  } catch (error) {
    return { blind: describe(error) }
  }
}

const isStopped = (): boolean => Atomics.load(words, stopWord) === 1

async function watch(): Promise<void> {
  let seen = Atomics.load(words, beatWord)
  while (!isStopped()) {
    if (Atomics.wait(words, beatWord, seen, patience) === 'timed-out' && !isStopped()) {
      Atomics.store(words, lateWord, 1)
      // Inside native code the answer comes when that ends: the question names the beat it is
      // about, so that the loop can refuse an answer that is too late.
      await evaluateOnMainThread(`${question}?.(${seen})`)
      // One look per gap, however long it takes.
      Atomics.wait(words, beatWord, seen)
    }
    seen = Atomics.load(words, beatWord)
  }
}

async function start(): Promise<void> {
  // An open port keeps this thread's loop turning while it waits for an answer.
  port.ref()
  const notice = await tryOut()
  port.postMessage(notice)
  if (notice.blind === undefined) await watch()
  port.close()
}

// A CommonJS bundle cannot await at its top level. A rejection ends the thread with its reason.
// oxlint-disable-next-line typescript/no-floating-promises -- see above
void start()
