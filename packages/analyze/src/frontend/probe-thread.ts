/** Parses the text on standard input in a thread, and ends with 0 if that ends at all. */
import { readFileSync } from 'node:fs'
import { Worker, isMainThread, workerData } from 'node:worker_threads'
import { parseSync } from 'oxc-parser'
import type { ParserOptions } from 'oxc-parser'

interface Task {
  readonly text: string
  readonly options: ParserOptions
}

if (isMainThread) {
  const options = JSON.parse(process.argv[2] ?? '{}') as ParserOptions
  const task: Task = { text: readFileSync(0, 'utf8'), options }
  const thread = new Worker(new URL(import.meta.url), { workerData: task })
  thread.once('error', () => (process.exitCode = 1))
} else {
  const { text, options } = workerData as Task
  parseSync('probe', text, options)
}
