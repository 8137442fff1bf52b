/** The words that all formats share. */
import type { FindingClass, SharedAccess } from '../finding.ts'

export interface ClassWords {
  readonly title: string
  /** Ends the sentence that the title begins. */
  readonly definition: string
}

/** The five classes of races, and the two that are not races. */
export const classWords: Readonly<Record<FindingClass, ClassWords>> = {
  toctou: {
    title: 'TOCTOU (time of check to time of use)',
    definition: 'state changes between a check and the action that is based on it',
  },
  'stale-reference': {
    title: 'Stale reference',
    definition: 'a task holds on to state that another task has invalidated',
  },
  'lifetime-mismatch': {
    title: 'Lifetime mismatch',
    definition:
      'a guard, or a claim on a resource, is released before the end of the work it protects',
  },
  'missing-guard': {
    title: 'Missing guard',
    definition: 'shared state is accessed without any synchronisation',
  },
  'atomicity-gap': {
    title: 'Atomicity gap',
    definition: 'two operations that belong together have a checkpoint between them',
  },
  blocking: {
    title: 'Blocking',
    definition: 'the event loop stands still, and every task on it waits',
  },
  suppression: {
    title: 'Suppression',
    definition: 'a comment that suppresses findings does not say, or no longer says, the truth',
  },
}

/** `steps 3–5`, `step 3`. */
export function stepsOf([first, last]: readonly [number, number], dash = '–'): string {
  return first === last ? `step ${first}` : `steps ${first}${dash}${last}`
}

/** `1 finding`, `2 findings`. */
export function count(n: number, noun: string): string {
  return `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`
}

/** `Client.connect:14`; with the file where it is another one. */
function accessName(access: SharedAccess, file: string): string {
  const { line, file: own } = access.span
  return own === file ? `${access.function}:${line}` : `${access.function} (${own}:${line})`
}

/** A name that is used twice in a row is written once: `connect:12, 14`. */
export function accessNames(accesses: readonly SharedAccess[], file: string): string[] {
  const names = new Set(accesses.map((access) => accessName(access, file)))
  return [...names]
}

/** The first few, and how many more there are. */
export function firstFew(names: readonly string[], most: number): string[] {
  if (names.length <= most) return [...names]
  return [...names.slice(0, most - 1), `+${names.length - most + 1} more`]
}
