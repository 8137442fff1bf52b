/** The thread in which the compiler is asked: its answers are waited for without blocking the loop. */
import { parentPort, workerData } from 'node:worker_threads'
import { openTypes } from '../open-types.ts'
import type { FromTypes, ToTypes, TypesStart } from './types-protocol.ts'

const start = workerData as TypesStart
const say = (message: FromTypes): void => parentPort?.postMessage(message)
const types = openTypes({ ...start, onProblem: (problem) => say({ kind: 'problem', problem }) })

parentPort?.on('message', (message: ToTypes) => {
  switch (message.kind) {
    case 'ask': {
      const facts = new Map(
        [...message.asked].map(([file, positions]) => [file, types.factsAt(file, positions)]),
      )
      say({ kind: 'facts', id: message.id, facts, source: types.kind })
      break
    }
    case 'update':
      types.update(message.changed)
      break
    case 'close':
      types.close()
      parentPort?.close()
  }
})
