/** Random secrets, their hashes, and comparisons that take the same time whatever is compared. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { hash, verify } from '@node-rs/argon2'
import { Semaphore } from '@heddle/core/lowlevel'

/** 256 bits, as text for addresses and cookies. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** Short, and not secret. */
export function newId(): string {
  return randomBytes(9).toString('hex')
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Compares hashes, so that timing does not reveal lengths. */
export function isSame(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(sha256(a), 'hex'), Buffer.from(sha256(b), 'hex'))
}

/** `text.signature` */
export function sign(text: string, key: string): string {
  return `${text}.${signatureOf(text, key)}`
}

/** The text of a signed one; undefined when the signature is not ours. */
export function readSigned(signed: string, key: string): string | undefined {
  const dot = signed.lastIndexOf('.')
  if (dot < 0) return undefined
  const text = signed.slice(0, dot)
  return isSame(signed.slice(dot + 1), signatureOf(text, key)) ? text : undefined
}

function signatureOf(text: string, key: string): string {
  return createHmac('sha256', key).update(text).digest('base64url')
}

/** RFC 9106 has more memory; these are the figures of OWASP for servers, 20 to 40 ms each. */
const cost = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/**
 * Argon2id in the threads of libuv, a few at a time: file work shares these threads.
 */
export class Passwords {
  readonly #turns = new Semaphore({ permits: 2 })
  /** A hash of no password: unknown users take as long as known ones. */
  readonly #none: Promise<string>

  constructor() {
    this.#none = hash(newSecret(), cost)
    // The first verification gets the error.
    this.#none.catch(() => undefined)
  }

  /** *Cancellation*: none; it takes some ten milliseconds. */
  async hash(password: string): Promise<string> {
    using _turn = await this.#turns.acquire()
    return await hash(password, cost)
  }

  /** False for a user without a password, after the same work. *Cancellation*: none. */
  async verify(stored: string | undefined, password: string): Promise<boolean> {
    using _turn = await this.#turns.acquire()
    const isRight = await verify(stored ?? (await this.#none), password)
    return isRight && stored !== undefined
  }
}
