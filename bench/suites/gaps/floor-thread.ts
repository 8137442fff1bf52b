import { parentPort } from 'node:worker_threads'
import { entriesOf } from './entries.ts'

parentPort!.on('message', (question: Uint8Array | number | string) => {
  if (typeof question === 'string') parentPort!.postMessage(question)
  else if (typeof question === 'number') parentPort!.postMessage(entriesOf(question))
  else parentPort!.postMessage(question.length)
})
