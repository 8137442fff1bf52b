import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../kernel/clock.ts'
import type { Ask, ReaderData, ReaderQuestion } from './messages.ts'
import { ReaderServer } from './reader-server.ts'

const port = parentPort!

const server = new ReaderServer(workerData as ReaderData, {
  post: (message) => port.postMessage(message),
  pause: () => new Promise((goOn) => systemClock.afterIo(goOn)),
})

port.on('message', (question: Ask<ReaderQuestion>) => void server.accept(question))
