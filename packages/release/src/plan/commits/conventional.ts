/** What a commit message says about the version. */
import type { Bump } from '../versions.ts'

export type Change = 'breaking' | 'feature' | 'fix' | 'none'

export interface ParsedMessage {
  readonly change: Change
  /** Whether it follows the convention, also where it changes no version. */
  readonly isConventional: boolean
  /** The line to show to people. */
  readonly title: string
  /** The commits that it takes back. */
  readonly reverts: readonly Revert[]
  /** Whether that is all it does. */
  readonly isRevert: boolean
}

export type Revert =
  | {
      readonly hash: string
      /** For a merge: the side that stays. Everything that the merge brought is taken back. */
      readonly mainline: string | undefined
    }
  /** GitHub names the request instead of the commit; only its title is left. */
  | { readonly title: string }

const header = /^(?<type>\w[\w-]*)(?:\([^()]*\))?(?<mark>!?): +\S/
const breakingFooter = /^BREAKING[ -]CHANGE(?::| #)/m
/** What GitHub and GitLab write: the title of the request is the next line then. */
const mergeLine = /^Merge (?:pull request|branch|branches|remote-tracking branch|tag|commit)\b/

/** A map and no object: the type of a commit may be `constructor`. */
const changes: ReadonlyMap<string, Change> = new Map([
  ['feat', 'feature'],
  ['fix', 'fix'],
  ['perf', 'fix'],
  ['revert', 'fix'],
])

/** Why no library: see docs/decisions/0204. */
export function parseMessage(message: string): ParsedMessage {
  const reverts = revertsIn(message)
  const title = titleOf(message)
  const { type, mark } = header.exec(title)?.groups ?? {}
  // `git revert` writes `Revert "…"`, which changes the released code like a fix does.
  const kind = type?.toLowerCase() ?? (reverts.length > 0 ? 'revert' : undefined)
  const isBreaking = mark === '!' || breakingFooter.test(message)
  return {
    change: isBreaking ? 'breaking' : (changes.get(kind ?? '') ?? 'none'),
    isConventional: kind !== undefined || isBreaking,
    title,
    reverts,
    isRevert: kind === 'revert' && reverts.length > 0,
  }
}

function titleOf(message: string): string {
  const lines = message.split('\n').map((line) => line.trim())
  const [first = '', second = first] = lines.filter((line) => line !== '')
  return mergeLine.test(first) ? second : first
}

function revertsIn(message: string): Revert[] {
  const sentence =
    /This reverts commit ([0-9a-f]{7,64})(?:,\s+reversing\s+changes\s+made\s+to\s+([0-9a-f]{7,64}))?/g
  const named = Array.from(message.matchAll(sentence), ([, hash, mainline]) => ({
    hash: hash!,
    mainline,
  }))
  if (named.length > 0) return named
  const [, title] =
    /^(?:Revert|Reapply) "(.+)"(?: \(#\d+\))?\s*$/m.exec(message.split('\n')[0]!) ?? []
  return title === undefined ? [] : [{ title }]
}

/** In 0.x everything may change, and the second number says so, unless `majorOnZero`. */
export function bumpOf(change: Change, isInitial: boolean, majorOnZero: boolean): Bump {
  switch (change) {
    case 'breaking':
      return isInitial && !majorOnZero ? 'minor' : 'major'
    case 'feature':
      return 'minor'
    case 'fix':
      return 'patch'
    case 'none':
      return 'none'
  }
}
