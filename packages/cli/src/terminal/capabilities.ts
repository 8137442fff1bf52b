/** What the terminal can show, and so which of the views is used. */

export type ViewMode = 'live' | 'plain' | 'json'

export interface ViewChoice {
  readonly mode: ViewMode
  /** Why it is not the live view. */
  readonly reason: string | undefined
  readonly color: boolean
  readonly unicode: boolean
}

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: NodeJS.Platform
  readonly isTerminal: boolean
}

export interface ViewWishes {
  readonly json: boolean
  /** False: no escape sequences at all. */
  readonly color: boolean
}

/** Set, and not to something that means no. */
function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false'
}

function whyPlain({ env, isTerminal }: Surroundings, wishes: ViewWishes): string | undefined {
  if (!isTerminal) return 'the output is no terminal'
  if (!wishes.color) return '--no-color'
  if (env['NO_COLOR'] !== undefined && env['NO_COLOR'] !== '') return 'NO_COLOR is set'
  if (env['TERM'] === 'dumb') return 'TERM is dumb'
  if (isSet(env['CI'])) return 'CI is set'
  return undefined
}

/** A terminal shows Unicode unless something says that it does not: many containers say nothing at all. */
function hasUnicode({ env, platform }: Surroundings): boolean {
  if (platform === 'win32') return isSet(env['WT_SESSION']) || env['TERM_PROGRAM'] === 'vscode'
  if (env['TERM'] === 'linux') return false
  // The first of these that is set decides, as for every program.
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || ''
  return locale === '' || /utf-?8/i.test(locale)
}

export function chooseView(surroundings: Surroundings, wishes: ViewWishes): ViewChoice {
  const unicode = hasUnicode(surroundings)
  if (wishes.json) return { mode: 'json', reason: '--json', color: false, unicode }
  const reason = whyPlain(surroundings, wishes)
  return {
    mode: reason === undefined ? 'live' : 'plain',
    reason,
    color: reason === undefined,
    unicode,
  }
}
