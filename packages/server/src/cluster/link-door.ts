/**
 * Where links of other servers arrive: their calls pass through the routes of this server like any request, and their answers are
 * sent back in groups. See server-link.ts.
 *
 *  D1  A link is opened only by a server of the cluster, which proves it (F2); each call on it proves its caller as well.
 *  D2  A call whose caller has left, or whose link has closed, is aborted as a request whose client has left.
 *  D3  A server that stops finishes the calls under way within its deadline, then closes its links.
 *  D4  An answer that is too long for a frame is not sent: the other server is answered so, and asks for it over a connection of its own.
 */
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import { waitFor, type Clock } from '@heddle/core/lowlevel'
import { Exchange, LinkPeer } from './exchange.ts'
import type { Forwarder } from './forward.ts'
import { encodeFrame, FrameReader, longestBody, type CarriedAnswer, type Frame } from './frames.ts'
import { Group } from './group.ts'
import { linkTarget } from './server-link.ts'

export interface LinkDoorOptions {
  readonly cluster: { readonly forwarder: Pick<Forwarder, 'proofOf'> }
  /** Answers requests. */
  readonly listener: () => RequestListener
  readonly clock: Clock
}

export class LinkDoor {
  readonly #options: LinkDoorOptions
  readonly #links = new Set<Socket>()
  #exchanges = 0
  #isStopped = false
  /** Called when the last call has ended. */
  #onIdle: () => void = () => undefined

  constructor(options: LinkDoorOptions) {
    this.#options = options
  }

  /** Takes links that arrive at this server. */
  follow(server: Server): void {
    server.on('connect', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      socket.on('error', () => socket.destroy())
      if (this.#isStopped) return void socket.destroy()
      const { method = '', url = '', headers } = request
      const isOurs = url === linkTarget
      const proof = this.#options.cluster.forwarder.proofOf({ method, url, headers })
      if (!isOurs || proof === undefined) {
        const status = isOurs ? '403 Forbidden' : '405 Method Not Allowed'
        return void socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`)
      }
      socket.write('HTTP/1.1 200 Connected\r\n\r\n')
      this.#open(socket, head)
    })
  }

  /** D3. *Cancellation*: it ends at the deadline. */
  async stop(deadline: number): Promise<void> {
    this.#isStopped = true
    if (this.#exchanges > 0) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#onIdle = resolve
      const { clock } = this.#options
      await waitFor(promise, 'The answers to other servers', clock, { deadline }).catch(
        () => undefined,
      )
      // The last group is sent at the end of this turn.
      await new Promise<void>((done) => clock.afterIo(() => clock.afterIo(done)))
    }
    for (const socket of this.#links) socket.destroySoon()
  }

  #open(socket: Socket, head: Buffer): void {
    const { clock } = this.#options
    const reader = new FrameReader()
    const peer = new LinkPeer(socket.remoteAddress)
    const open = new Map<number, Exchange>()
    const write = (frame: Frame): void => {
      if (socket.destroyed) return
      socket.cork()
      for (const piece of encodeFrame(frame)) socket.write(piece)
      socket.uncork()
    }
    const answers = new Group<CarriedAnswer>(clock, (group) => write({ answers: group }))
    this.#links.add(socket)
    socket.setNoDelay(true)
    const receive = (piece: Buffer): void => {
      try {
        for (const { calls = [], gone = [] } of reader.read(piece)) {
          for (const call of calls) {
            const exchange = new Exchange(call, peer, (answer) => {
              open.delete(call.id)
              this.#ended()
              if (answer.body.length <= longestBody) answers.add(answer)
              else write({ long: [call.id] })
            })
            open.set(call.id, exchange)
            this.#exchanges++
            this.#options.listener()(exchange.request, exchange.response)
          }
          for (const id of gone) this.#abort(open, id)
          // It asks whether this server is alive.
          if (calls.length === 0 && gone.length === 0) write({})
        }
      } catch {
        socket.destroy()
      }
    }
    socket.on('data', receive)
    socket.on('end', () => socket.destroy())
    socket.once('close', () => {
      this.#links.delete(socket)
      for (const id of open.keys()) this.#abort(open, id)
      peer.leave()
    })
    if (head.length > 0) receive(head)
  }

  /** D2. */
  #abort(open: Map<number, Exchange>, id: number): void {
    const exchange = open.get(id)
    if (exchange === undefined) return
    open.delete(id)
    this.#ended()
    exchange.abort()
  }

  #ended(): void {
    if (--this.#exchanges === 0) this.#onIdle()
  }
}
