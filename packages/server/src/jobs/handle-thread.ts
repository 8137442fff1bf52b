/** Large inputs get their handle in a thread: putting the keys of a megabyte in order takes longer than a turn of the loop may. */
import { job } from '@heddle/core'
import { handleOf, type HandleOwner } from './handle.ts'

export interface HandleQuestion {
  readonly owner: HandleOwner
  readonly text: string
}

export const handleJob = job(
  { name: 'handle', place: 'thread', module: import.meta.url },
  ({ owner, text }: HandleQuestion) => handleOf(owner, JSON.parse(text) as unknown),
)
