/**
 * The view that the user has chosen.
 *
 *   window: the important nodes     all: every node, scrolled        log: lines of jobs
 *
 * `w` and `a` choose, `l` goes to the log and back to where it was called from, `f` narrows window and all.
 */
export type ViewName = 'window' | 'all' | 'log'
export type Filter = 'all' | 'active' | 'failed'

export interface UiState {
  readonly view: ViewName
  readonly filter: Filter
  /** Where `l` leads back to. */
  readonly previous: Exclude<ViewName, 'log'>
  readonly help: boolean
  /** First row shown in the view `all`. The frame keeps it inside the list. */
  readonly offset: number
}

export const firstUi: UiState = {
  view: 'window',
  filter: 'all',
  previous: 'window',
  help: false,
  offset: 0,
}

const nextFilter: Readonly<Record<Filter, Filter>> = {
  all: 'active',
  active: 'failed',
  failed: 'all',
}

const steps: Readonly<Record<string, number>> = {
  up: -1,
  down: 1,
  'page-up': -10,
  'page-down': 10,
  home: -Infinity,
  end: Infinity,
}

/** The state after a key, or undefined when the key means nothing here. */
export function pressKey(ui: UiState, key: string, rows: number): UiState | undefined {
  const step = steps[key]
  if (step !== undefined && ui.view === 'all') {
    const offset = Math.max(0, Math.min(rows - 1, ui.offset + step))
    return { ...ui, offset }
  }
  switch (key) {
    case 'a':
      return { ...ui, view: 'all', previous: 'all', help: false, offset: 0 }
    case 'w':
      return { ...ui, view: 'window', previous: 'window', help: false }
    case 'f':
      return { ...ui, filter: nextFilter[ui.filter], help: false, offset: 0 }
    case 'l':
      return { ...ui, view: ui.view === 'log' ? ui.previous : 'log', help: false }
    case '?':
    case 'h':
      return { ...ui, help: !ui.help }
    case 'escape':
      return ui.help ? { ...ui, help: false } : undefined
    default:
      return undefined
  }
}
