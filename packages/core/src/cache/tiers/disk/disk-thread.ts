import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type { DiskBatch, DiskThreadData } from './messages.ts'
import { DiskServer } from './server.ts'

const port = parentPort!

const server = new DiskServer(workerData as DiskThreadData, {
  post: (message, transfer) => port.postMessage(message, transfer),
  next: () => receiveMessageOnPort(port)?.message as DiskBatch | undefined,
})

port.on('message', (batch: DiskBatch) => server.accept(batch))
