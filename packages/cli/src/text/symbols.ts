import type { NodeState } from '@heddle/core'
import type { Style } from './line.ts'

/** What stands for what. All but the arrow are one column wide. */
export interface Symbols {
  readonly states: Readonly<Record<NodeState, string>>
  readonly bar: Readonly<Record<'reused' | 'done' | 'failed' | 'skipped' | 'left', string>>
  readonly ellipsis: string
  readonly warning: string
  readonly arrow: string
  readonly dot: string
  readonly times: string
}

export const unicodeSymbols: Symbols = {
  states: {
    waiting: '○',
    ready: '◌',
    running: '●',
    retrying: '↻',
    suspended: '◐',
    succeeded: '✓',
    failed: '✗',
    blocked: '⊘',
    skipped: '−',
    cancelled: '⊗',
  },
  bar: { reused: '═', done: '━', failed: '╳', skipped: '╌', left: '─' },
  ellipsis: '…',
  warning: '!',
  arrow: '→',
  dot: '·',
  times: '×',
}

/** For terminals that show only ASCII. */
export const asciiSymbols: Symbols = {
  states: {
    waiting: 'o',
    ready: ':',
    running: '*',
    retrying: '~',
    suspended: '=',
    succeeded: '+',
    failed: 'x',
    blocked: '#',
    skipped: '-',
    cancelled: 'c',
  },
  bar: { reused: '=', done: '#', failed: 'x', skipped: '.', left: '-' },
  ellipsis: '~',
  warning: '!',
  arrow: '->',
  dot: '-',
  times: 'x',
}

export const stateStyles: Readonly<Record<NodeState, Style>> = {
  waiting: 'dim',
  ready: 'dim',
  running: 'cyan',
  retrying: 'yellow',
  suspended: 'cyan',
  succeeded: 'green',
  failed: 'red',
  blocked: 'magenta',
  skipped: 'dim',
  cancelled: 'yellow',
}
