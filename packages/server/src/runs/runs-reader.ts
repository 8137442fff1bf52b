/** The journal as routes read it: large answers are made in a thread and arrive as bytes. */
import { ThreadPool, type Journal, type Kernel, type WaitOptions } from '@heddle/core/lowlevel'
import { RunViews, type ViewQuestion } from './run-views.ts'
import { viewJob, type ThreadQuestion } from './view-thread.ts'

export interface RunsReader extends AsyncDisposable {
  /**
   * The body of an answer.
   *
   * *Cancellation*: the signal and the deadline end the wait.
   */
  answer(question: ViewQuestion, limits: WaitOptions): Promise<Uint8Array | string>
}

export function openRunsReader(journal: Journal, kernel: Kernel): RunsReader {
  return journal.address === 'memory' ? inProcess(journal, kernel) : inThread(journal, kernel)
}

/** No other thread sees the memory of this one. */
function inProcess(journal: Journal, kernel: Kernel): RunsReader {
  const views = new RunViews(journal, kernel.clock)
  return {
    answer: (question) => views.answer(question),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

function inThread({ address }: Journal, kernel: Kernel): RunsReader {
  // A thread of its own: a large run takes seconds to read, and handles of jobs wait for the shared
  // thread.
  const pool = new ThreadPool({ threads: 1, kernel })
  const { module, name } = viewJob
  return {
    answer: (question, limits) => {
      const input: ThreadQuestion = { address, question }
      return pool.run<Uint8Array>({ module: module!, job: name, input }, limits)
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}
