import type { RunModel } from '../model/run-model.ts'
import { formatDuration } from './format.ts'
import { span, type Line, type Span } from './line.ts'
import type { UiState } from './ui-state.ts'
import type { Viewport } from './viewport.ts'

/** Who holds up the event loop, if anybody does. */
export function gapLine({ gap, symbols }: Viewport): Line | undefined {
  if (gap === undefined) return undefined
  return [
    span(`${symbols.warning} the event loop stood still for ${formatDuration(gap.ms)}: `, 'yellow'),
    span(gap.blame),
  ]
}

export function noticeLine({ notice, symbols }: Viewport): Line | undefined {
  return notice === undefined ? undefined : [span(`${symbols.warning} ${notice}`, 'yellow')]
}

/** The keys that do something now. */
export function keysLine(model: RunModel, ui: UiState): Line {
  const keys: (readonly [key: string, action: string])[] = []
  if (model.state === 'running') keys.push(['p', 'pause'])
  if (model.state === 'paused') keys.push(['r', 'resume'])
  keys.push(['q', model.state === 'draining' ? 'abort' : 'cancel'])
  keys.push(['f', `filter: ${ui.filter}`])
  if (ui.view !== 'all') keys.push(['a', 'all'])
  if (ui.view !== 'window') keys.push(['w', 'window'])
  keys.push(['l', ui.view === 'log' ? `back to ${ui.previous}` : 'log'], ['?', 'help'])
  return keys.flatMap(([key, action], i): Span[] => [
    span(`${i === 0 ? '' : '  '}${key}`, 'bold'),
    span(` ${action}`, 'dim'),
  ])
}

const help: readonly (readonly [key: string, meaning: string])[] = [
  ['p r', 'pause, resume: what runs goes on, nothing new starts (SIGUSR1, SIGUSR2)'],
  ['q', 'cancel: what runs may finish, the rest is skipped; again: abort'],
  ['Ctrl+C', 'as q; a third time ends the process at once'],
  ['Ctrl+Z', 'stop the process; fg goes on'],
  ['f', 'show all, only active, or only failed jobs'],
  ['w a', 'what matters now, or every job (arrows, page, home, end)'],
  ['l', 'what jobs said, and back'],
  ['?', 'this help, and back'],
]

export function helpLines(): Line[] {
  return help.map(([key, meaning]) => [span(key.padEnd(8), 'bold'), span(meaning)])
}
