/**
 * The thread in which the compiler is asked: its answers are waited for without blocking the loop.
 *
 * A request to the compiler is synchronous, so the thread takes messages from the port itself, and between two of
 * them it asks ahead.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { openTypes } from '../open-types.ts'
import { AskedAhead } from './asked-ahead.ts'
import type { FromTypes, ToTypes, TypesStart } from './types-protocol.ts'

const start = workerData as TypesStart
const port = parentPort!
const say = (message: FromTypes): void => port.postMessage(message)
const types = openTypes({ ...start, onProblem: (problem) => say({ kind: 'problem', problem }) })
const ahead = new AskedAhead(types, start.files, start.overlays)

port.on('message', (message: ToTypes) => {
  hear(message)
  work()
})
work()

/** Works until there is nothing to do but to wait. */
function work(): void {
  for (;;) {
    const next: { readonly message: ToTypes } | undefined = receiveMessageOnPort(port)
    if (next !== undefined) hear(next.message)
    else if (!ahead.askOne()) break
  }
}

function hear(message: ToTypes): void {
  switch (message.kind) {
    case 'ask': {
      const symbols = new Map(
        [...message.asked].map(([file, positions]) => [file, ahead.symbolsAt(file, positions)]),
      )
      say({ kind: 'symbols', id: message.id, symbols, source: types.kind })
      break
    }
    case 'update':
      types.update(message.changed)
      ahead.forget(message)
      break
    case 'close':
      ahead.stop()
      types.close()
      port.close()
  }
}
