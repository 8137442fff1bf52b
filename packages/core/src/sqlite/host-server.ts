/**
 * The thread that hosts a SQLite file, without the thread: takes requests, commits changes together, answers.
 *
 *   requests ──▶ questions: answered at once, or after the changes before them
 *            ├─▶ changes:   gathered ──▶ one transaction for each role ──▶ answered
 *            └─▶ large values: written to a file ──▶ a change
 *
 *  H1  Everything that has arrived when a commit starts goes into it, up to a weight. While it is under way the
 *      next group gathers: the group grows with the load, and no request waits for a timer (group commit).
 *  H2  Changes of one role are committed in the order in which they came. Each role commits its part of a group by itself,
 *      in the order of the roles' numbers: a role that fails harms no other (docs/decisions/0796).
 *  H3  A change is answered after its commit, and never with success before it.
 *  H4  Every request is answered once, also those that come before the file is open or after it was closed.
 *  H5  Work that nothing waits for is done when nothing has come for a while, or, after a second without such a
 *      pause, between messages.
 */
import type { HeddleError } from '../errors.ts'
import { encodeError } from '../threads/error-wire.ts'
import type { HostAnswer, HostAnswers, HostMessage, HostRequest } from './host-messages.ts'
import { giveAway } from './own-bytes.ts'

/** A large value that is being received. Its steps happen one after the other. */
export interface Receiver {
  write(piece: Uint8Array<ArrayBuffer>): Promise<void>
  /** The value is complete: gives the change that stores it. */
  finish(): Promise<unknown>
  /** Removes its received pieces. */
  abandon(): Promise<void>
}

/** One use of a file: its questions, its changes, its large values. */
export interface Role<Q = never, C = never, H = never> {
  /** A promise is waited for; meanwhile other requests are answered. */
  answer(question: Q, now: number): unknown
  /** Whether a question must see the changes that came before it. */
  seesChanges(question: Q): boolean
  /**
   * Makes changes durable, in one transaction. Gives an answer for each: an error is one that failed alone. When it
   * throws, none of them was made.
   */
  commit(changes: readonly C[], now: number): readonly unknown[]
  /** How much a change adds to its group: a group is closed at `groupWeight`. */
  weightOf(change: C): number
  /** The memory of an answer that may be given away. */
  bytesOf?(answer: unknown): Uint8Array<ArrayBuffer> | undefined
  receive?(head: H, id: number): Receiver
}

/** A file and its roles. */
export interface HostedFile {
  /** The roles in the order of their numbers. */
  readonly roles: readonly Role[]
  open(): unknown
  close(argument: unknown): unknown
  toError(error: unknown): HeddleError
  /** Travels with every message of answers. */
  report?(): unknown
  /** Called after the changes of a group have been answered. */
  afterCommit?(): void
  /** Whether there is work that nothing waits for. */
  readonly hasIdleWork?: boolean
  /** Does some of it: a few milliseconds. False when it failed, and is not to be tried again now. */
  workIdly?(): boolean
}

export interface HostPort {
  post(message: HostAnswers, transfer: readonly ArrayBuffer[]): void
  /** The next message that has arrived already. */
  next(): HostMessage | undefined
  /** The next message that has arrived, or arrives in a moment. */
  nextSoon(): HostMessage | undefined
  /** Calls back after this many milliseconds, once messages that arrived before then have been taken. */
  whenIdle(quiet: number, callback: () => void): void
}

/** Changes of more weight are committed before more messages are taken: those behind them do not wait for long. */
const groupWeight = 16_384

/** Milliseconds without a message after which there is time for idle work. */
const quietTime = 25

/** How often idle work waits for a pause: then it is done between messages until it is finished. */
const mostPuttingsOff = 40

interface Waiting {
  readonly id: number
  readonly role: number
  readonly change: unknown
}

interface Receiving {
  readonly role: number
  readonly receiver: Receiver
  steps: Promise<void>
  failure: Error | undefined
}

type AnyRole = Role<unknown, unknown, unknown>

export class HostServer {
  readonly #file: HostedFile
  readonly #port: HostPort
  readonly #receiving = new Map<number, Receiving>()
  /** Why the file could not be opened: every later request fails with it. */
  #unusable: unknown
  /** Messages that came while the file was being opened or closed. */
  #backlog: HostMessage[] | undefined
  #waiting: Waiting[] = []
  #weight = 0
  #answers: HostAnswer[] = []
  #transfer: ArrayBuffer[] = []
  #now = 0
  #idlePlanned = false
  /** Whether nothing has come since idle work was planned. */
  #isQuiet = false
  /** How often idle work was put off since there was none. */
  #puttingsOff = 0

  constructor(file: HostedFile, port: HostPort) {
    this.#file = file
    this.#port = port
  }

  accept(first: HostMessage): void {
    this.#isQuiet = false
    let message: HostMessage | undefined = first
    while (message !== undefined) {
      this.#takeMessage(message)
      // Answers to reads need not wait for the commit of later changes.
      if (this.#answers.length > 0) this.#send()
      message = this.#weight < groupWeight ? this.#port.next() : undefined
      if (message === undefined) {
        this.#commit()
        message = this.#port.nextSoon()
      }
    }
    this.#planIdle(quietTime)
  }

  #takeMessage(message: HostMessage): void {
    if (this.#backlog !== undefined) {
      this.#backlog.push(message)
      return
    }
    this.#now = message.now
    const { requests } = message
    for (let index = 0; index < requests.length; index++) {
      this.#take(requests[index]!)
      if (!this.#isAlone) continue
      this.#backlog!.push({ now: message.now, requests: requests.slice(index + 1) })
      return
    }
  }

  #take(request: HostRequest): void {
    if (this.#unusable !== undefined && !('open' in request)) this.#fail(request.id, this.#unusable)
    else if ('change' in request) this.#gather(request)
    else if ('ask' in request) this.#ask(request.id, request.role, request.ask)
    else if ('open' in request) this.#open(request.id)
    else if ('close' in request) {
      this.#commit()
      this.#alone(request.id, () => this.#file.close(request.close))
    } else this.#receive(request)
  }

  /** Whether the file is being opened or closed. */
  get #isAlone(): boolean {
    return this.#backlog !== undefined
  }

  #roleOf(number: number): AnyRole {
    return this.#file.roles[number] as AnyRole
  }

  #gather(waiting: Waiting): void {
    this.#waiting.push(waiting)
    this.#weight += this.#roleOf(waiting.role).weightOf(waiting.change)
  }

  #ask(id: number, number: number, question: unknown): void {
    const role = this.#roleOf(number)
    try {
      if (role.seesChanges(question)) this.#commit()
      const value = role.answer(question, this.#now)
      if (value instanceof Promise) this.#answerLater(id, role, value)
      else this.#answer(id, value, role)
    } catch (error) {
      this.#fail(id, error)
    }
  }

  #answerLater(id: number, role: AnyRole, value: Promise<unknown>): void {
    const answered = value.then((found) => this.#answer(id, found, role))
    const end = (): void => this.#send()
    answered.catch((error: unknown) => this.#fail(id, error)).then(end, end)
  }

  #open(id: number): void {
    this.#unusable = undefined
    this.#alone(id, async () => {
      try {
        return await this.#file.open()
      } catch (error) {
        this.#unusable = error
        throw error
      }
    })
  }

  /** Opening and closing: requests that come in between wait. */
  #alone(id: number, work: () => unknown): void {
    let done: unknown
    try {
      done = work()
    } catch (error) {
      this.#fail(id, error)
      return
    }
    if (!(done instanceof Promise)) {
      this.#answer(id, done)
      return
    }
    this.#backlog = []
    const resume = (): void => {
      const backlog = this.#backlog!
      this.#backlog = undefined
      for (const message of backlog) this.#takeMessage(message)
      this.#commit()
      this.#send()
    }
    done.then(
      (value) => {
        this.#answer(id, value)
        resume()
      },
      (error) => {
        this.#fail(id, error)
        resume()
      },
    )
  }

  #receive(request: Exclude<HostRequest, { ask: unknown } | { change: unknown }>): void {
    const { id } = request
    if ('begin' in request) {
      try {
        const receiver = this.#roleOf(request.role).receive!(request.begin, id)
        const steps = Promise.resolve()
        this.#receiving.set(id, { role: request.role, receiver, steps, failure: undefined })
      } catch (error) {
        this.#fail(id, error)
      }
      return
    }
    const receiving = this.#receiving.get(id)
    if (receiving === undefined) return
    receiving.steps = receiving.steps
      .then(() => this.#step(request, receiving))
      .catch((error: Error) => {
        receiving.failure ??= error
      })
  }

  async #step(request: HostRequest, receiving: Receiving): Promise<void> {
    const { id } = request
    const { receiver, role } = receiving
    if ('piece' in request) {
      // After a failure the rest is taken and thrown away, until its end is answered.
      if (receiving.failure === undefined) await receiver.write(request.piece)
      this.#answers.push({ id, credit: request.piece.length })
      this.#send()
      return
    }
    this.#receiving.delete(id)
    try {
      if (receiving.failure !== undefined) throw receiving.failure
      if ('end' in request) this.#gather({ id, role, change: await receiver.finish() })
      else {
        await receiver.abandon()
        this.#answer(id, undefined)
      }
    } catch (error) {
      await receiver.abandon().catch(() => undefined)
      this.#fail(id, error)
    }
    this.#commit()
    this.#send()
  }

  #commit(): void {
    if (this.#waiting.length === 0) return
    const group = this.#waiting
    this.#waiting = []
    this.#weight = 0
    for (const [number, role] of this.#file.roles.entries()) {
      const part = group.filter((each) => each.role === number)
      if (part.length > 0) this.#commitPart(role, part)
    }
    this.#file.afterCommit?.()
  }

  #commitPart(role: AnyRole, part: readonly Waiting[]): void {
    try {
      const changes = part.map(({ change }) => change)
      const outcomes = role.commit(changes, this.#now)
      for (const [index, { id }] of part.entries()) {
        const outcome = outcomes[index]
        if (outcome instanceof Error) this.#fail(id, outcome)
        else this.#answer(id, outcome, role)
      }
    } catch (error) {
      for (const { id } of part) this.#fail(id, error)
    }
    this.#send()
  }

  #answer(id: number, value: unknown, role?: AnyRole): void {
    const bytes = role?.bytesOf?.(value)
    if (bytes !== undefined) giveAway(bytes, this.#transfer)
    this.#answers.push({ id, value })
  }

  #fail(id: number, error: unknown): void {
    this.#answers.push({ id, error: encodeError(this.#file.toError(error)) })
  }

  #send(): void {
    if (this.#answers.length === 0) return
    const answers = this.#answers
    const transfer = this.#transfer
    this.#answers = []
    this.#transfer = []
    this.#port.post({ answers, report: this.#file.report?.() }, transfer)
  }

  #planIdle(quiet: number): void {
    if (this.#idlePlanned) return
    if (this.#file.hasIdleWork !== true) {
      this.#puttingsOff = 0
      return
    }
    this.#idlePlanned = true
    this.#isQuiet = true
    this.#port.whenIdle(quiet, () => {
      this.#idlePlanned = false
      if (this.#file.hasIdleWork !== true) return
      if (!this.#isQuiet && this.#puttingsOff < mostPuttingsOff) {
        this.#puttingsOff++
        this.#planIdle(quietTime)
      } else if (this.#file.workIdly!()) this.#planIdle(0)
    })
  }
}
