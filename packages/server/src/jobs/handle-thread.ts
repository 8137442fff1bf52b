/**
 * Large inputs get their handle in a thread: putting the keys of a megabyte in order takes longer than a turn of the loop may.
 */
import { job } from '@heddle/core'
import { cutJson } from '../http/json-pieces.ts'
import { parseText } from '../http/parse-json.ts'
import { handleOf, type HandleOwner } from './handle.ts'
import { notJson } from './job-errors.ts'

export interface HandleQuestion {
  readonly owner: HandleOwner
  readonly text: string
}

export interface LargeInput {
  readonly handle: string
  /** Pieces of its JSON, for `joinJson`. */
  readonly pieces: readonly string[]
}

const place = { place: 'thread', module: import.meta.url } as const

/** The handle of a value that the loop has already. */
export const handleJob = job({ name: 'handle', ...place }, ({ owner, text }: HandleQuestion) =>
  handleOf(owner, JSON.parse(text) as unknown),
)

/** The handle and the value of an input. */
export const inputJob = job(
  { name: 'input', ...place },
  ({ owner, text }: HandleQuestion): LargeInput => {
    const input = parseText(text, (message) => notJson(owner.name, message))
    return { handle: handleOf(owner, input), pieces: cutJson(text) }
  },
)
