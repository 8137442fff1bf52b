/** What a commit message says about the version. */
import { CommitParser } from 'conventional-commits-parser'
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
  /** GitHub names the request instead of the commit; its title is what is left. */
  | { readonly title: string }

const never = /(?!)/

/**
 * Not the library's defaults: its header refuses scopes with commas, its notes take a sentence that
 * starts with "breaking change:" for a footer, and its fields let a line `-notes-` overwrite the
 * notes, after which it fails.
 */
const parser = new CommitParser({
  headerPattern: /^(\w[\w-]*)(?:\(([^()]*)\))?: +(.+)$/,
  breakingHeaderPattern: /^(\w[\w-]*)(?:\(([^()]*)\))?!: +(.+)$/,
  headerCorrespondence: ['type', 'scope', 'subject'],
  notesPattern: () => /^(BREAKING[ -]CHANGE): +(.*)/,
  // What GitHub and GitLab write: the title of the request is the next line then.
  mergePattern: /^Merge (?:pull request|branch|branches|remote-tracking branch|tag|commit)\b.*$/,
  mergeCorrespondence: [],
  fieldPattern: never,
  revertPattern: never,
})

const changes: Readonly<Record<string, Change>> = {
  feat: 'feature',
  fix: 'fix',
  perf: 'fix',
  revert: 'fix',
}

export function parseMessage(message: string): ParsedMessage {
  const reverts = revertsIn(message)
  if (message.trim() === '') {
    return { change: 'none', isConventional: false, title: '', reverts, isRevert: false }
  }
  const { type, header, notes, merge } = parser.parse(message)
  const title = header ?? merge ?? ''
  // `git revert` writes `Revert "…"`, which changes what was released like a fix does.
  const kind = type?.toLowerCase() ?? (reverts.length > 0 ? 'revert' : undefined)
  const isRevert = kind === 'revert' && reverts.length > 0
  const change = notes.length > 0 ? 'breaking' : (changes[kind ?? ''] ?? 'none')
  return {
    change,
    isConventional: kind !== undefined || notes.length > 0,
    title,
    reverts,
    isRevert,
  }
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
