/**
 * Names that examples may use without declaring them, so that an example shows the one thing it is
 * about. Each does the least that lets the example run, and each example gets its own.
 */
import { Graph, job, openScope, Scheduler, type Scope } from '@heddle/core'
import { Mutex, Queue } from '@heddle/core/lowlevel'

// What callers pass on.
/** Never aborts. */
export const signal: AbortSignal = new AbortController().signal
export const text = '1\n2\n3'
export const request = { path: '/' }
export const state = { done: 3 }
export const pinnedManifest = '{ "version": "1.0.0" }'

// What was made elsewhere in the program.
export const mutex: Mutex = new Mutex()
export const scope: Scope = openScope()
export const graph: Graph = new Graph()
graph.add(
  'two',
  job({ name: 'two' }, () => 2),
)
export const scheduler: Scheduler = new Scheduler()
scheduler.add('core')
/** Holds two items and gets no more. */
export const queue: Queue<string> = new Queue({ capacity: 2 })
queue.tryPut('first')
queue.tryPut('second')
queue.close()

// The caller's own work.
async function something(...input: unknown[]): Promise<string> {
  return input.map(String).join()
}
export {
  something as answer,
  something as infer,
  something as load,
  something as loadImage,
  something as loadText,
  something as pack,
  something as publish,
  something as removeTemporaryFiles,
  something as render,
  something as save,
  something as show,
  something as start,
  something as transfer,
  something as updateUser,
  something as work,
  something as writeConfig,
}
export const parse = (csv: string): number[] => csv.split('\n').map(Number)
export const service = { handle: something }
export async function connect(): Promise<{ query(sql: string): Promise<string>; end(): void }> {
  return { query: something, end: () => undefined }
}
