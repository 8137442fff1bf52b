/**
 * The kept connection to another server, over which calls are sent in groups (C6).
 *
 *   closed ──first call──▶ connecting ──▶ open ──nothing heard for `silence`, or an error──▶ closed
 *     ▲                        │           └── idle for `idleLimit` ──▶ closed
 *     └── refused, late ───────┘
 *
 * Invariants, quoted by the tests:
 *  L1  One connection to each server, whatever the number of calls; answers come in any order.
 *  L2  Every call ends: with its answer, with its signal, at its deadline, or with `unreachable` when its link closes. A link with
 *      calls under way is asked whether it is alive every second, and closes when nothing was heard for `silence`.
 *  L3  At most `mostCalls` are under way on a link; more are refused with Retry-After (law 4).
 *  L4  A caller that leaves, or whose deadline has passed, is reported, so that the other server stops waiting for it.
 *  L5  A server that knows no links (an older version, or a proxy between) is reported as `unsupported`: its calls are sent
 *      one by one.
 *  L6  A call or an answer that is too long for a frame is reported as `too long`, and harms no other call.
 *
 * A call that was sent may have been carried out when its link closes. The caller sends it again: it has the id of the first one (F5).
 */
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import { HeddleError } from '@heddle/core'
import { waitFor, type Clock, type Timer } from '@heddle/core/lowlevel'
import {
  encodeFrame,
  FrameReader,
  longestBody,
  type CarriedAnswer,
  type CarriedCall,
  type Frame,
} from './frames.ts'
import { Group } from './group.ts'

/** What servers connect to: not an address, but what CONNECT asks for. */
export const linkTarget = 'heddle-cluster:1'

const mostCalls = 4_096
/** Milliseconds to connect. */
const connectWithin = 2_000
/** Milliseconds between two checks of a link with calls under way. */
const lookEvery = 1_000
/** Milliseconds without a byte from the other server after which the link closes. */
const silence = 4_000
/** Milliseconds without a call after which the link closes. */
const idleLimit = 60_000
/** Milliseconds for which a server that knows no links is not asked for one again. */
const unsupportedFor = 60_000
/** Milliseconds after which a caller of a full link should come back. */
const retryAfter = 1_000

/** Why there is no answer. */
export type LinkFailure = 'unreachable' | 'unsupported' | 'too long'

type Outcome = CarriedAnswer | LinkFailure

export interface LinkOptions {
  readonly address: string
  readonly clock: Clock
  /** The headers that prove the identity of the connecting server. */
  readonly proof: () => Readonly<Record<string, string>>
}

/** How long a call waits for its answer. */
export interface CallWait {
  readonly signal: AbortSignal
  /** Milliseconds. */
  readonly deadline: number
}

export interface LinkStats {
  /** Calls that wait for their answers. */
  readonly calls: number
  readonly sent: number
  readonly groups: number
}

export class Link {
  readonly #options: LinkOptions
  readonly #calls = new Map<number, (outcome: Outcome) => void>()
  readonly #group: Group<CarriedCall>
  #socket: Socket | undefined
  #connecting: Promise<LinkFailure | undefined> | undefined
  #unsupportedUntil = -Infinity
  #heardAt = 0
  #idleSince = 0
  #look: Timer | undefined
  #ids = 0
  #isClosed = false

  constructor(options: LinkOptions) {
    this.#options = options
    this.#group = new Group(options.clock, (calls) => this.#write({ calls }))
  }

  stats(): LinkStats {
    return { calls: this.#calls.size, ...this.#group.stats() }
  }

  /**
   * *Cancellation*: the signal or the deadline; the other server hears that the caller has left.
   * @throws the reason of the signal; `HDL_TIMEOUT` at the deadline; `HDL_OVERLOADED` (L3).
   */
  async ask(call: Omit<CarriedCall, 'id'>, wait: CallWait): Promise<Outcome> {
    wait.signal.throwIfAborted()
    const { clock } = this.#options
    if (clock.now() < this.#unsupportedUntil) return 'unsupported'
    if (call.body.length > longestBody) return 'too long'
    if (this.#calls.size >= mostCalls) {
      const what = `The link to ${this.#options.address}`
      throw new HeddleError('HDL_OVERLOADED', { what, retryAfter })
    }
    const id = ++this.#ids
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    // L2: the call is in the list before the first await.
    this.#calls.set(id, resolve)
    this.#sendWhenOpen({ ...call, id })
    try {
      return await waitFor(promise, 'The answer of another server', clock, wait)
    } catch (error) {
      // L4.
      this.#calls.delete(id)
      this.#write({ gone: [id] })
      throw error
    }
  }

  /** Ends all calls. Harmless twice. */
  close(): void {
    this.#isClosed = true
    this.#socket?.destroy()
    this.#endAll('unreachable')
  }

  #sendWhenOpen(call: CarriedCall): void {
    if (this.#socket !== undefined) return this.#group.add(call)
    this.#connecting ??= this.#connect()
    // oxlint-disable-next-line typescript/no-floating-promises -- #connect() never rejects
    this.#connecting.then((failure) => {
      if (failure !== undefined) this.#end(call.id, failure)
      else if (this.#calls.has(call.id)) this.#group.add(call)
    })
  }

  /** Never rejects. */
  async #connect(): Promise<LinkFailure | undefined> {
    try {
      if (this.#isClosed) return 'unreachable'
      const socket = await connectTo(this.#options)
      if (this.#isClosed) {
        if (typeof socket !== 'string') socket.destroy()
        return 'unreachable'
      }
      if (typeof socket !== 'string') {
        this.#follow(socket)
        return undefined
      }
      if (socket === 'unsupported') {
        this.#unsupportedUntil = this.#options.clock.now() + unsupportedFor
      }
      return socket
    } finally {
      this.#connecting = undefined
    }
  }

  #follow(socket: Socket): void {
    const { clock } = this.#options
    const reader = new FrameReader()
    this.#socket = socket
    this.#heardAt = this.#idleSince = clock.now()
    socket.on('data', (piece: Buffer) => {
      this.#heardAt = clock.now()
      try {
        for (const { answers = [], long = [] } of reader.read(piece)) {
          for (const answer of answers) this.#end(answer.id, answer)
          for (const id of long) this.#end(id, 'too long')
        }
      } catch {
        socket.destroy()
      }
    })
    socket.on('error', () => socket.destroy())
    socket.on('end', () => socket.destroy())
    socket.once('close', () => {
      if (this.#socket !== socket) return
      this.#socket = undefined
      this.#look?.cancel()
      this.#endAll('unreachable')
    })
    this.#lookLater()
  }

  /** L2. */
  #lookLater(): void {
    const { clock } = this.#options
    this.#look = clock.setTimer(lookEvery, () => {
      const now = clock.now()
      if (this.#calls.size > 0) this.#idleSince = now
      const isSilent = this.#calls.size > 0 && now - this.#heardAt > silence
      const isIdle = now - this.#idleSince > idleLimit
      if (isSilent || isIdle) return void this.#socket?.destroy()
      if (this.#calls.size > 0) this.#write({})
      else this.#heardAt = now
      this.#lookLater()
    })
  }

  #write(frame: Frame): void {
    const socket = this.#socket
    if (socket === undefined || socket.destroyed) return
    socket.cork()
    for (const piece of encodeFrame(frame)) socket.write(piece)
    socket.uncork()
  }

  #end(id: number, outcome: Outcome): void {
    this.#calls.get(id)?.(outcome)
    this.#calls.delete(id)
  }

  #endAll(failure: LinkFailure): void {
    for (const id of this.#calls.keys()) this.#end(id, failure)
  }
}

/** Never rejects. */
function connectTo({ address, clock, proof }: LinkOptions): Promise<Socket | LinkFailure> {
  const { promise, resolve } = Promise.withResolvers<Socket | LinkFailure>()
  const { protocol, hostname, port } = new URL(address)
  const isSecure = protocol === 'https:'
  const sent = (isSecure ? httpsRequest : httpRequest)({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (isSecure ? 443 : 80) : Number(port),
    method: 'CONNECT',
    path: linkTarget,
    headers: proof(),
    agent: false,
  })
  const timer = clock.setTimer(connectWithin, () => {
    sent.destroy()
    resolve('unreachable')
  })
  sent.on('connect', ({ statusCode }, socket: Socket, head: Buffer) => {
    timer.cancel()
    if (statusCode !== 200) {
      socket.destroy()
      return resolve('unsupported')
    }
    socket.setNoDelay(true)
    if (head.length > 0) socket.unshift(head)
    resolve(socket)
  })
  sent.on('response', (response) => {
    timer.cancel()
    response.destroy()
    resolve('unsupported')
  })
  sent.on('error', (error: NodeJS.ErrnoException) => {
    timer.cancel()
    // L5: a server that has no listener for CONNECT closes the connection without an answer.
    resolve(error.code === 'ECONNRESET' ? 'unsupported' : 'unreachable')
  })
  sent.end()
  return promise
}
