/**
 * What servers of a cluster send each other over a link: frames with a group of calls, or of answers.
 *
 *   frame = length of the rest (4 bytes) · length of the head (4 bytes) · head (JSON) · bodies, one after the other
 *
 * A frame with an empty head says that its sender is alive.
 */
import { HeddleError } from '@heddle/core'

export interface CarriedCall {
  /** Unique on its link. */
  readonly id: number
  readonly method: string
  /** The path with its query. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export interface CarriedAnswer {
  readonly id: number
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export interface Frame {
  readonly calls?: readonly CarriedCall[]
  readonly answers?: readonly CarriedAnswer[]
  /** Calls whose callers have left. */
  readonly gone?: readonly number[]
  /** Calls whose answers are longer than `longestBody`. */
  readonly long?: readonly number[]
}

/** Bytes of the longest body in a frame: a longer one has a connection of its own (F6). */
export const longestBody: number = 32 * 2 ** 20

/** Bytes of a frame: a group, and the body that has filled it. */
const largest = 2 * longestBody

const none = Buffer.alloc(0)

export function encodeFrame({ calls = [], answers = [], gone = [], long = [] }: Frame): Buffer[] {
  const bodies: Buffer[] = []
  const withSize = ({ body, ...rest }: CarriedCall | CarriedAnswer): object => {
    if (body.length > 0) bodies.push(body)
    return { ...rest, size: body.length }
  }
  const head = Buffer.from(
    JSON.stringify({ calls: calls.map(withSize), answers: answers.map(withSize), gone, long }),
  )
  const size = bodies.reduce((sum, { length }) => sum + length, 4 + head.length)
  const lengths = Buffer.alloc(8)
  lengths.writeUInt32BE(size, 0)
  lengths.writeUInt32BE(head.length, 4)
  return [lengths, head, ...bodies]
}

type Sized<T extends { readonly body: Buffer }> = Omit<T, 'body'> & { readonly size: number }

/** Makes frames of bytes as they arrive. */
export class FrameReader {
  #pieces: Buffer[] = []
  #size = 0
  /** Length of the frame that arrives; 0 until it is known. */
  #wanted = 0

  /** @throws `HDL_BAD_INPUT` when the bytes are not frames. */
  read(piece: Buffer): readonly Frame[] {
    const frames: Frame[] = []
    this.#pieces.push(piece)
    this.#size += piece.length
    for (;;) {
      if (this.#wanted === 0) {
        if (this.#size < 4) return frames
        this.#wanted = 4 + this.#joined().readUInt32BE(0)
        if (this.#wanted > largest || this.#wanted < 8) throw badFrame('of a wrong length')
      }
      if (this.#size < this.#wanted) return frames
      const bytes = this.#joined()
      const frame = decodeFrame(bytes.subarray(4, this.#wanted))
      const rest = bytes.subarray(this.#wanted)
      this.#pieces = rest.length === 0 ? [] : [rest]
      this.#size = rest.length
      this.#wanted = 0
      frames.push(frame)
    }
  }

  #joined(): Buffer {
    if (this.#pieces.length !== 1) this.#pieces = [Buffer.concat(this.#pieces)]
    return this.#pieces[0]!
  }
}

function decodeFrame(bytes: Buffer): Frame {
  const end = 4 + bytes.readUInt32BE(0)
  if (end > bytes.length) throw badFrame('with a head that is too long')
  let at = end
  const withBody = <T extends { readonly body: Buffer }>({ size, ...rest }: Sized<T>): T => {
    const body = size === 0 ? none : bytes.subarray(at, at + size)
    if (body.length !== size) throw badFrame('with bodies that are too long')
    at += size
    return { ...rest, body } as unknown as T
  }
  try {
    const head = JSON.parse(bytes.toString('utf8', 4, end)) as {
      readonly calls: readonly Sized<CarriedCall>[]
      readonly answers: readonly Sized<CarriedAnswer>[]
      readonly gone: readonly number[]
      /** Servers of the version before do not know it. */
      readonly long?: readonly number[]
    }
    const calls = head.calls.map((call) => withBody<CarriedCall>(call))
    return {
      calls,
      answers: head.answers.map((answer) => withBody<CarriedAnswer>(answer)),
      gone: head.gone,
      long: head.long ?? [],
    }
  } catch (error) {
    throw badFrame(error instanceof SyntaxError ? 'that is not JSON' : 'that is not one of ours')
  }
}

function badFrame(problem: string): HeddleError {
  return new HeddleError('HDL_BAD_INPUT', { what: 'A frame of another server', problem })
}
