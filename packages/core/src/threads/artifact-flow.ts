/**
 * Artifacts of jobs, on their way from a thread to the loop, which has the store.
 *
 * ```
 *   thread                                  loop
 *   begin ─────────────────────────────────▶ the store starts to read
 *   piece, at most `window` unread ────────▶ a piece waits until the store asks for it
 *         ◀──────────────────────── read ─── it was read
 *   end, or the error of the content ──────▶ the store writes it down
 *         ◀──────────────── done or error ── what ctx.artifact() returns or throws
 * ```
 *
 * Invariants, quoted by the tests:
 *  A1  The loop holds at most `window` pieces of each artifact.
 *  A2  A job that has returned ends when its artifacts have; one that has thrown does not wait for them.
 *  A3  When the job leaves its thread, however it does, the store's reads of its artifacts end with an error.
 */
import type { Transferable } from 'node:worker_threads'
import type { ArtifactContent, ArtifactInfo } from '../artifacts/artifact-store.ts'
import { piecesOf } from '../artifacts/pieces.ts'
import { HeddleError } from '../errors.ts'
import { decodeError, encodeError, type ErrorWire } from './error-wire.ts'
import type { Ticket } from './task-ownership.ts'

/** Pieces that are sent before the first of them is read. */
const window = 4

/** Messages from the thread. */
export type ArtifactNotice = {
  readonly type: 'artifact'
  readonly ticket: Ticket
  /** Unique in its thread. */
  readonly id: number
} & (
  | { readonly step: 'begin'; readonly name: string }
  | { readonly step: 'piece'; readonly piece: Uint8Array<ArrayBuffer> }
  | { readonly step: 'end'; readonly error?: ErrorWire }
)

/** Sends an answer to the thread. */
export type ArtifactControl = { readonly type: 'artifact'; readonly id: number } & (
  | { readonly step: 'read' }
  | { readonly step: 'done'; readonly info: ArtifactInfo }
  | { readonly step: 'refused'; readonly error: ErrorWire }
)

interface Sending {
  readonly ticket: Ticket
  readonly end: PromiseWithResolvers<ArtifactInfo>
  readonly controller: AbortController
  unread: number
  onRead: (() => void) | undefined
}

/** The thread's side. */
export class ArtifactSender {
  readonly #post: (notice: ArtifactNotice, transfer?: readonly Transferable[]) => void
  readonly #sending = new Map<number, Sending>()
  #last = 0

  constructor(post: (notice: ArtifactNotice, transfer?: readonly Transferable[]) => void) {
    this.#post = post
  }

  send(ticket: Ticket, name: string, content: ArtifactContent): Promise<ArtifactInfo> {
    const id = ++this.#last
    const end = Promise.withResolvers<ArtifactInfo>()
    const controller = new AbortController()
    const sending: Sending = { ticket, end, controller, unread: 0, onRead: undefined }
    this.#sending.set(id, sending)
    this.#post({ type: 'artifact', ticket, id, step: 'begin', name })
    this.#sendPieces(id, sending, name, content).catch((error: unknown) => {
      // An artifact that was refused has ended already.
      if (this.#sending.get(id) !== sending) return
      this.#post({ type: 'artifact', ticket, id, step: 'end', error: encodeError(error) })
    })
    return end.promise
  }

  accept(control: ArtifactControl): void {
    const sending = this.#sending.get(control.id)
    if (sending === undefined) return
    switch (control.step) {
      case 'read':
        sending.unread--
        sending.onRead?.()
        break
      case 'done':
        this.#sending.delete(control.id)
        sending.end.resolve(control.info)
        break
      case 'refused':
        this.#stop(control.id, decodeError(control.error))
    }
  }

  /** Those of a job that have not ended; undefined when there are none. */
  pending(ticket: Ticket): Promise<unknown> | undefined {
    if (this.#sending.size === 0) return undefined
    const ends = [...this.#sending.values()]
      .filter((each) => each.ticket === ticket)
      .map(({ end }) => end.promise)
    return ends.length === 0 ? undefined : Promise.all(ends)
  }

  /** The job has ended: nothing more of it is sent. */
  drop(ticket: Ticket): void {
    for (const [id, each] of this.#sending) {
      if (each.ticket !== ticket) continue
      each.end.promise.catch(() => undefined)
      this.#stop(id, new HeddleError('HDL_CLOSED', { what: 'The job that wrote the artifact' }))
    }
  }

  #stop(id: number, error: unknown): void {
    const sending = this.#sending.get(id)!
    this.#sending.delete(id)
    sending.end.reject(error)
    sending.controller.abort(error)
    sending.onRead?.()
  }

  async #sendPieces(
    id: number,
    sending: Sending,
    name: string,
    content: ArtifactContent,
  ): Promise<void> {
    const { ticket, controller } = sending
    const { signal } = controller
    for await (const piece of piecesOf(content, `The artifact "${name}"`, signal)) {
      while (sending.unread >= window && !signal.aborted) {
        await new Promise<void>((read) => (sending.onRead = read))
      }
      if (signal.aborted) return
      sending.unread++
      // A copy of its own, which moves to the loop: the content may use its buffer again.
      const own = new Uint8Array(piece)
      this.#post({ type: 'artifact', ticket, id, step: 'piece', piece: own }, [own.buffer])
    }
    this.#post({ type: 'artifact', ticket, id, step: 'end' })
  }
}

/** The loop's handler of a job's artifact. */
export type OnArtifact = (name: string, content: AsyncIterable<Uint8Array>) => Promise<ArtifactInfo>

/** The loop's side of one thread. */
export class ArtifactReader {
  readonly #post: (control: ArtifactControl) => void
  readonly #feeds = new Map<number, { readonly ticket: Ticket; readonly feed: Feed }>()

  constructor(post: (control: ArtifactControl) => void) {
    this.#post = post
  }

  accept(notice: ArtifactNotice, onArtifact: OnArtifact | undefined): void {
    const { id, ticket } = notice
    if (notice.step === 'begin') return this.#begin(id, ticket, notice.name, onArtifact)
    const { feed } = this.#feeds.get(id) ?? {}
    if (notice.step === 'piece') feed?.push(notice.piece)
    else feed?.end(notice.error && decodeError(notice.error))
  }

  /** A3. All of them when there is no ticket. */
  drop(ticket: Ticket | undefined, error: unknown): void {
    for (const [id, each] of this.#feeds) {
      if (ticket !== undefined && each.ticket !== ticket) continue
      this.#feeds.delete(id)
      each.feed.end(error)
    }
  }

  get isIdle(): boolean {
    return this.#feeds.size === 0
  }

  #begin(id: number, ticket: Ticket, name: string, onArtifact: OnArtifact | undefined): void {
    const feed = new Feed(() => this.#post({ type: 'artifact', id, step: 'read' }))
    this.#feeds.set(id, { ticket, feed })
    const refuse = (error: unknown): void => {
      this.#answer(id, { type: 'artifact', id, step: 'refused', error: encodeError(error) })
    }
    if (onArtifact === undefined) {
      return refuse(new HeddleError('HDL_NO_ARTIFACTS', { node: 'The job', artifact: name }))
    }
    try {
      onArtifact(name, feed).then(
        (info) => this.#answer(id, { type: 'artifact', id, step: 'done', info }),
        refuse,
      )
    } catch (error) {
      refuse(error)
    }
  }

  #answer(id: number, control: ArtifactControl): void {
    // The job has left meanwhile.
    if (this.#feeds.delete(id)) this.#post(control)
  }
}

/** The pieces of one artifact, handed on when they are asked for. */
class Feed implements AsyncIterable<Uint8Array> {
  readonly #pieces: Uint8Array[] = []
  readonly #onRead: () => void
  #end: { readonly error: unknown } | undefined
  #wake: (() => void) | undefined

  constructor(onRead: () => void) {
    this.#onRead = onRead
  }

  push(piece: Uint8Array): void {
    if (this.#end !== undefined) return
    this.#pieces.push(piece)
    this.#wake?.()
  }

  end(error: unknown): void {
    this.#end ??= { error }
    this.#wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      // An error goes before the remaining pieces: it will not become an artifact.
      if (this.#end?.error !== undefined) throw this.#end.error as Error
      const piece = this.#pieces.shift()
      if (piece !== undefined) {
        this.#onRead()
        yield piece
      } else if (this.#end === undefined) {
        await new Promise<void>((wake) => (this.#wake = wake))
      } else return
    }
  }
}
