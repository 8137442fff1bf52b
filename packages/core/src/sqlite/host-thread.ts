/** Runs a host in the thread that was started for it. */
import { availableParallelism } from 'node:os'
import { parentPort, receiveMessageOnPort } from 'node:worker_threads'
import { systemClock } from '../kernel/clock.ts'
import { HostServer, type HostedFile } from './host-server.ts'
import { Lookout } from './lookout.ts'
import type { HostMessage } from './host-messages.ts'

/** `looksOut`: before it goes to sleep the thread looks for the next message, as long as they come quickly. */
export function hostFile(file: HostedFile, options: { readonly looksOut: boolean }): void {
  const port = parentPort!
  const next = (): HostMessage | undefined =>
    receiveMessageOnPort(port)?.message as HostMessage | undefined
  const lookout = new Lookout(systemClock, options.looksOut ? availableParallelism() : 1, next)
  const server = new HostServer(file, {
    post: (message, transfer) => port.postMessage(message, transfer),
    next,
    nextSoon: () => lookout.next(),
    whenIdle: (quiet, callback) => {
      if (quiet === 0) systemClock.afterIo(callback)
      else systemClock.setTimer(quiet, callback)
    },
  })
  port.on('message', (message: HostMessage) => {
    lookout.onWoken()
    server.accept(message)
  })
}
