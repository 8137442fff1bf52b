/** The thread jobs of the gaps suite. */
import { job } from '@heddle/core'
import { entriesOf } from '../suites/gaps/entries.ts'

const module = import.meta.url

export const writeLines = job(
  { name: 'write lines', place: 'thread', module },
  (count: number, { log }) => {
    for (let line = 0; line < count; line++) log(`line ${line} of a job that has much to say`)
    return count
  },
)

export const countBytes = job(
  { name: 'count bytes', place: 'thread', module },
  (bytes: Uint8Array) => bytes.length,
)

export const makeEntries = job({ name: 'make entries', place: 'thread', module }, entriesOf)
