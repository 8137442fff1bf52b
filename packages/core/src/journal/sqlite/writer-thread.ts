import { availableParallelism } from 'node:os'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../kernel/clock.ts'
import { Lookout } from './lookout.ts'
import type { ToWriter, WriterData } from './messages.ts'
import { WriterServer } from './writer-server.ts'

const port = parentPort!
const next = (): ToWriter | undefined => receiveMessageOnPort(port)?.message as ToWriter | undefined
const lookout = new Lookout(systemClock, availableParallelism(), next)

const server = new WriterServer(workerData as WriterData, {
  post: (message) => port.postMessage(message),
  next,
  now: () => systemClock.now(),
  nextSoon: () => lookout.next(),
  whenIdle: (quiet, callback) => {
    if (quiet === 0) systemClock.afterIo(callback)
    else systemClock.setTimer(quiet, callback)
  },
})

port.on('message', (message: ToWriter) => {
  lookout.onWoken()
  server.accept(message)
})
