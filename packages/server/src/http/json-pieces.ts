/**
 * Large JSON, parsed without holding up the loop.
 *
 * A value that a thread has parsed must come to the loop, and taking it over as a structured clone costs the loop as
 * much as parsing its text. So the thread cuts the text into pieces, and the loop parses one piece after the other, in
 * slices:
 *
 *   thread: text ─▶ is it JSON? ─▶ cutJson ─▶ pieces ─▶ loop: joinJson, a piece at a time ─▶ value
 *
 * A piece is a JSON list of steps; each of them changes the container that is open:
 *
 *   [1,2] or {"a":1}   appends these members
 *   "key"              names the next container, in an object
 *   1, 2               opens a list, an object
 *   0                  closes the open container
 *
 * Containers whose text is short are members; only long ones are opened. All members are parts of the client's text, so
 * the value is what `JSON.parse` makes of the whole of it, with -0, with keys that are given twice, and with
 * `__proto__`.
 */
import { slicesOf, type Clock } from '@heddle/core/lowlevel'

/**
 * Characters of a piece, unless one string or white space is longer: parsing this many takes about a millisecond at
 * worst.
 */
const usualPiece = 32 * 1_024

const close = 0
const openList = 1
const openObject = 2

type Container = unknown[] | Record<string, unknown>

/**
 * @param text Must be JSON: it was parsed before.
 * @param size Characters from which on a container is opened, and a piece is full.
 */
export function cutJson(text: string, size = usualPiece): string[] {
  const long = longContainers(text, size)
  const writer = new PieceWriter(size)
  /** Whether the open container is an object, from the outside to the inside. The value itself is in a list. */
  const open = [false]
  /** Depth of short containers inside the open one. */
  let depth = 0
  /** Where the members begin that are not written yet; undefined after a container was closed. */
  let group: number | undefined = 0
  let member = 0
  const writeGroup = (end: number): void => {
    if (group === undefined || end <= group) return
    const members = text.slice(group, end).trim()
    if (members !== '') writer.add(open.at(-1)! ? `{${members}}` : `[${members}]`)
  }
  for (let at = 0; at < text.length; at++) {
    switch (text[at]!) {
      case '"':
        at = endOfString(text, at)
        break
      case '[':
      case '{':
        if (!long.has(at)) {
          depth++
          break
        }
        writeGroup(member - 1)
        // The text between the member's begin and its value is its key.
        if (open.at(-1)!) writer.add(text.slice(member, text.lastIndexOf(':', at)).trim())
        open.push(text[at] === '{')
        writer.add(String(open.at(-1)! ? openObject : openList))
        group = member = at + 1
        break
      case ']':
      case '}':
        if (depth > 0) {
          depth--
          break
        }
        writeGroup(at)
        open.pop()
        writer.add(String(close))
        group = undefined
        break
      case ',':
        if (depth > 0) break
        if (group !== undefined && at - group >= size) {
          writeGroup(at)
          group = undefined
        }
        member = at + 1
        group ??= member
        break
    }
  }
  writeGroup(text.length)
  return writer.pieces()
}

/** *Cancellation*: none: it is bounded by the text. */
export async function joinJson(pieces: readonly string[], clock: Clock): Promise<unknown> {
  const slices = slicesOf(clock, 1)
  const root: unknown[] = []
  const outer: Container[] = []
  let open: Container = root
  let key = ''
  for (const piece of pieces) {
    for (const step of JSON.parse(piece) as (number | string | Container)[]) {
      if (step === close) open = outer.pop()!
      else if (step === openList || step === openObject) {
        const made: Container = step === openList ? [] : {}
        if (Array.isArray(open)) open.push(made)
        else setOwn(open, key, made)
        outer.push(open)
        open = made
      } else if (typeof step === 'string') key = step
      else addMembers(open, step as Container)
    }
    if (slices.due) await slices.next()
  }
  return root[0]
}

function addMembers(open: Container, members: Container): void {
  if (Array.isArray(open)) for (const one of members as unknown[]) open.push(one)
  else for (const key of Object.keys(members)) setOwn(open, key, (members as typeof open)[key])
}

/** Like `JSON.parse`: a key named `__proto__` is a key like any other. */
function setOwn(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') object[key] = value
  else {
    const usual = { enumerable: true, configurable: true, writable: true }
    Object.defineProperty(object, key, { value, ...usual })
  }
}

/** Where containers begin whose text is longer than `size`. */
function longContainers(text: string, size: number): Set<number> {
  const long = new Set<number>()
  const begins: number[] = []
  for (let at = 0; at < text.length; at++) {
    switch (text[at]!) {
      case '"':
        at = endOfString(text, at)
        break
      case '[':
      case '{':
        begins.push(at)
        break
      case ']':
      case '}': {
        const begin = begins.pop()!
        if (at - begin >= size) long.add(begin)
        break
      }
    }
  }
  return long
}

/** Position of the quotation mark that ends the string that begins here. */
function endOfString(text: string, begin: number): number {
  for (let at = begin + 1; ; at++) {
    at = text.indexOf('"', at)
    let backslashes = 0
    while (text[at - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return at
  }
}

/** Puts steps into pieces, in order. */
class PieceWriter {
  readonly #size: number
  readonly #pieces: string[] = []
  #steps: string[] = []
  #length = 0

  constructor(size: number) {
    this.#size = size
  }

  add(step: string): void {
    this.#steps.push(step)
    this.#length += step.length + 1
    if (this.#length >= this.#size) this.#end()
  }

  pieces(): string[] {
    if (this.#length > 0) this.#end()
    return this.#pieces
  }

  #end(): void {
    this.#pieces.push(`[${this.#steps.join(',')}]`)
    this.#steps = []
    this.#length = 0
  }
}
