/** Connections beside the fleet: claims that wait for work, and senders that send a byte a second. */
import net from 'node:net'
import { Latency } from './latency.ts'
import { Wire } from './wire.ts'

interface Address {
  readonly host: string
  readonly port: number
}

/** Workers that wait in a claim for work that none of the campaigns has: a claim is answered empty after its wait. */
export class WaitingClaims {
  readonly latency = new Latency()
  readonly #wires: Wire[] = []
  #isOver = false

  constructor({ host, port }: Address, count: number, waitMs: number) {
    for (let index = 0; index < count; index++) {
      let sentAt = 0
      const send = (): void => {
        if (this.#isOver) return
        sentAt = performance.now()
        wire.send('/fleet/claim', claimOf(index, waitMs))
      }
      const wire = new Wire({
        host,
        port,
        token: undefined,
        onAnswer: ({ status }) => {
          // Beyond the wait that was asked for.
          if (status === 200) this.latency.add(Math.max(0, performance.now() - sentAt - waitMs))
          else this.latency.errors++
          setTimeout(send, Math.random() * 1_000).unref()
        },
        onClose: () => setTimeout(send, Math.random() * 5_000).unref(),
      })
      this.#wires.push(wire)
      setTimeout(send, Math.random() * waitMs).unref()
    }
  }

  stop(): void {
    this.#isOver = true
    for (const wire of this.#wires) wire.close()
  }
}

function claimOf(index: number, wait: number): string {
  const worker = {
    id: `idle-worker-${index}`,
    name: `idle-${index}`,
    threads: 1,
    memory: 1_000,
    capabilities: [],
    tags: [],
    system: 'linux-x64',
    jobs: [{ name: 'other', version: '1' }],
  }
  return JSON.stringify({ worker, request: `${index}-${Math.random()}`, wait_ms: wait })
}

/** Connections that send the head of a request at one byte a second, and begin again when they are cut off. */
export class SlowSenders {
  readonly #sockets = new Set<net.Socket>()
  readonly #timer: NodeJS.Timeout
  cutOff = 0
  #isOver = false

  constructor({ host, port }: Address, count: number) {
    const head = `POST /fleet/beat HTTP/1.1\r\nHost: ${host}\r\nX-Filler: ${'x'.repeat(600)}`
    const sent = new WeakMap<net.Socket, number>()
    const open = (): void => {
      if (this.#isOver) return
      const socket = net.connect({ host, port })
      this.#sockets.add(socket)
      sent.set(socket, 0)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        this.cutOff++
        setTimeout(open, Math.random() * 1_000).unref()
      })
      socket.resume()
    }
    for (let index = 0; index < count; index++) open()
    this.#timer = setInterval(() => {
      for (const socket of this.#sockets) {
        const at = sent.get(socket) ?? 0
        if (socket.writable) socket.write(head[at % head.length]!)
        sent.set(socket, at + 1)
      }
    }, 1_000)
  }

  stop(): void {
    this.#isOver = true
    clearInterval(this.#timer)
    for (const socket of this.#sockets) socket.destroy()
  }
}
