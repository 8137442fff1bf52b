import type { RunModel } from '../model/run-model.ts'
import { formatDuration } from '../text/format.ts'
import { span, textOf, type Line, type Span } from '../text/line.ts'
import { widthOf } from '../text/terminal-text.ts'
import type { UiState } from './ui-state.ts'
import type { Viewport } from './viewport.ts'

/** What held up the event loop longest; in a narrow terminal in fewer words. */
export function gapLine({ gap, symbols, columns }: Viewport): Line | undefined {
  if (gap === undefined) return undefined
  const forms = ['the event loop stood still for', 'loop blocked'].map((what): Line => [
    span(`${symbols.warning} ${what} ${formatDuration(gap.ms)}: `, 'yellow'),
    span(gap.blame),
  ])
  return forms.find((form) => widthOf(textOf(form)) <= columns) ?? forms.at(columns < 60 ? -1 : 0)
}

/** While all that is left sleeps or waits for signals: how to end the process without cancelling the run. */
export function asleepLine({ state, counts }: RunModel, viewport: Viewport): Line | undefined {
  const { running, ready, retrying, suspended } = counts
  const isAsleep = state === 'running' && suspended > 0 && running + ready + retrying === 0
  if (!isAsleep || viewport.canLeave !== true || viewport.notice !== undefined) return undefined
  const forms = [
    'all that is left sleeps or waits for signals: Ctrl+\\ ends the process, --resume continues',
    'all is asleep: Ctrl+\\ leaves the run',
  ]
  const form = forms.find((text) => widthOf(text) <= viewport.columns) ?? forms.at(-1)!
  return [span(form, 'dim')]
}

export function noticeLine({ notice, symbols }: Viewport): Line | undefined {
  return notice === undefined ? undefined : [span(`${symbols.warning} ${notice}`, 'yellow')]
}

/** The keys that a narrow terminal drops, in this order: `?` explains all of them. */
const droppedFirst = ['w', 'a', 'l', 'f', 'p', 'r']

/** The keys that do something now, as many as fit. */
export function keysLine(model: RunModel, ui: UiState, columns: number): Line {
  let keys: (readonly [key: string, action: string])[] = []
  if (model.state === 'running') keys.push(['p', 'pause'])
  if (model.state === 'paused') keys.push(['r', 'resume'])
  keys.push(['q', model.state === 'draining' ? 'abort' : 'cancel'])
  keys.push(['f', `filter: ${ui.filter}`])
  if (ui.view !== 'all') keys.push(['a', 'all'])
  if (ui.view !== 'window') keys.push(['w', 'window'])
  keys.push(['l', ui.view === 'log' ? `back to ${ui.previous}` : 'log'], ['?', 'help'])
  const widthOfKeys = (): number =>
    keys.reduce((sum, [key, action]) => sum + widthOf(`${key} ${action}  `), -2)
  for (const dropped of droppedFirst) {
    if (widthOfKeys() <= columns) break
    keys = keys.filter(([key]) => key !== dropped)
  }
  return keys.flatMap(([key, action], i): Span[] => [
    span(`${i === 0 ? '' : '  '}${key}`, 'bold'),
    span(` ${action}`, 'dim'),
  ])
}

const help: readonly (readonly [key: string, meaning: string])[] = [
  ['p r', 'pause, resume: running jobs continue, nothing new starts (SIGUSR1, SIGUSR2)'],
  ['q', 'cancel: running jobs may finish, the rest is skipped; again: abort'],
  ['Ctrl+C', 'as q; a third time ends the process at once'],
  ['Ctrl+\\', 'end the process at once; --resume continues the run'],
  ['Ctrl+Z', 'stop the process; fg continues it'],
  ['f', 'show all, only active, or only failed jobs'],
  ['w a', 'what matters now, or every job (arrows, page, home, end)'],
  ['l', 'what jobs have logged, and back'],
  ['?', 'this help, and back'],
]

export function helpLines(): Line[] {
  return help.map(([key, meaning]) => [span(key.padEnd(8), 'bold'), span(meaning)])
}
