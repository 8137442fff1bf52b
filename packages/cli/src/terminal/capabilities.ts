/** The abilities of the terminal, which decide the view. */

export type ViewMode = 'live' | 'plain' | 'quiet' | 'json'

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
  /** Failures and the summary only. */
  readonly quiet?: boolean
  /** False: the same view without colours. */
  readonly color: boolean
}

/** Whether it is set, and not to a value that means no. */
function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false'
}

function whyPlain({ env, isTerminal }: Surroundings): string | undefined {
  if (!isTerminal) return 'the output is not a terminal'
  if (env['TERM'] === 'dumb') return 'TERM is dumb'
  if (isSet(env['CI'])) return 'CI is set'
  return undefined
}

/** NO_COLOR asks for no colours, not for another view: https://no-color.org. */
function isColorful({ env }: Surroundings, wishes: ViewWishes): boolean {
  return wishes.color && (env['NO_COLOR'] ?? '') === ''
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
  const plain = whyPlain(surroundings)
  const color = plain === undefined && isColorful(surroundings, wishes)
  if (wishes.quiet === true) return { mode: 'quiet', reason: '--quiet', color, unicode }
  return { mode: plain === undefined ? 'live' : 'plain', reason: plain, color, unicode }
}
