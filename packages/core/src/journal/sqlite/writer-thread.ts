import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../kernel/clock.ts'
import type { ToWriter, WriterData } from './messages.ts'
import { WriterServer } from './writer-server.ts'

const port = parentPort!

const server = new WriterServer(workerData as WriterData, {
  post: (message) => port.postMessage(message),
  next: () => receiveMessageOnPort(port)?.message as ToWriter | undefined,
  whenIdle: (callback) => systemClock.afterIo(callback),
})

port.on('message', (message: ToWriter) => server.accept(message))
