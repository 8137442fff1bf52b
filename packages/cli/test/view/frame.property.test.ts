import assert from 'node:assert/strict'
import test from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { Graph, job, type NodeState, type RunEvent, type RunState } from '@heddle/core'
import fc from 'fast-check'
import { RunModel } from '../../src/model/run-model.ts'
import { frame, tallest } from '../../src/view/frame.ts'
import { paint, textOf } from '../../src/text/line.ts'
import { asciiSymbols, unicodeSymbols } from '../../src/text/symbols.ts'
import { printable, widthOf } from '../../src/text/terminal-text.ts'
import type { UiState } from '../../src/view/ui-state.ts'
import type { Viewport } from '../../src/view/viewport.ts'

const states: NodeState[] = [
  'waiting',
  'ready',
  'running',
  'retrying',
  'succeeded',
  'failed',
  'blocked',
  'skipped',
  'cancelled',
]
const runStates: RunState[] = ['idle', 'running', 'paused', 'draining', 'finished', 'cancelled']

const text = fc.string({
  unit: fc.constantFrom(
    'a',
    'Z',
    ' ',
    '日',
    '語',
    '🎉',
    '👩‍👩‍👧',
    'e\u0301',
    '\u001b[31m',
    '\u001b[2J',
    '\n',
    '\r',
    '\t',
    '\u202e',
    '\u0007',
  ),
  maxLength: 30,
})

const nothing = job({ name: 'nothing' }, () => undefined)

interface Step {
  readonly node: number
  readonly state: NodeState
  readonly at: number
  readonly attempt: number
  readonly text: string
}

const step: fc.Arbitrary<Step> = fc.record({
  node: fc.nat(),
  state: fc.constantFrom(...states),
  at: fc.nat(1e8),
  attempt: fc.nat(5),
  text,
})

/** A model in any state that events can bring it into, and many that they cannot. */
function modelOf(names: readonly string[], steps: readonly Step[], state: RunState): RunModel {
  const graph = new Graph()
  const unique = [...new Set(names.map((name, i) => `${name}${i}`))]
  for (const name of unique) graph.add(name, nothing)
  const model = new RunModel(graph, { title: unique[0] ?? 'run', retries: 3 })
  model.apply({ type: 'start', at: 0, nodes: unique.length })
  model.apply({ type: 'state', at: 0, state })
  for (const { node, state: to, at, attempt, text: said } of steps) {
    const name = unique[node % unique.length]!
    const event: RunEvent = {
      type: 'node',
      at,
      name,
      state: to,
      attempt,
      error: new Error(said),
      delay: at % 60_000,
      blockedBy: unique[at % unique.length]!,
    }
    model.apply(event)
    if (at % 3 === 0) model.apply({ type: 'log', at, name, attempt, text: said })
  }
  return model
}

const ui: fc.Arbitrary<UiState> = fc.record({
  view: fc.constantFrom('window', 'all', 'log'),
  filter: fc.constantFrom('all', 'active', 'failed'),
  previous: fc.constantFrom('window', 'all'),
  help: fc.boolean(),
  offset: fc.nat(200),
})

const scene = fc.record({
  names: fc.array(text, { minLength: 1, maxLength: 60 }),
  steps: fc.array(step, { maxLength: 120 }),
  state: fc.constantFrom(...runStates),
  ui,
  columns: fc.integer({ min: 1, max: 160 }),
  rows: fc.integer({ min: 1, max: 60 }),
  remaining: fc.option(fc.nat(1e8), { nil: undefined }),
  gap: fc.option(fc.record({ ms: fc.nat(1e5), blame: text.map(printable) }), { nil: undefined }),
  notice: fc.option(text.map(printable), { nil: undefined }),
  isAscii: fc.boolean(),
  keys: fc.boolean(),
  waiting: fc.array(text.map(printable), { maxLength: 6 }),
})

test('V1, V2, V3: no frame is wider or higher than the terminal, whatever happened in the run', () => {
  fc.assert(
    fc.property(scene, (s) => {
      const model = modelOf(s.names, s.steps, s.state)
      const viewport: Viewport = {
        columns: s.columns,
        rows: s.rows,
        now: 1e8,
        remaining: s.remaining,
        waiting: s.waiting.map((why, i) => ({
          row: model.rows[i % model.total]!,
          state: i % 2 === 0 ? 'ready' : 'waiting',
          text: why,
        })),
        gap: s.gap,
        notice: s.notice,
        keys: s.keys,
        symbols: s.isAscii ? asciiSymbols : unicodeSymbols,
      }
      const lines = frame(model, s.ui, viewport)
      assert.ok(lines.length <= Math.max(0, s.rows - 1), 'V2')
      assert.ok(lines.length <= tallest, 'V2')
      for (const line of lines) {
        const plain = textOf(line)
        assert.ok(widthOf(plain) <= s.columns, `V1 ${JSON.stringify(plain)}`)
        // oxlint-disable-next-line no-control-regex -- what must not be there
        assert.doesNotMatch(plain, /[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/)
        assert.equal(stripVTControlCharacters(paint(line, true)), plain)
      }
      assert.deepEqual(frame(model, s.ui, viewport), lines, 'V3')
    }),
    { numRuns: 400 },
  )
})
