import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { Screen, painted, type PaintedLine } from '../../src/terminal/screen.ts'
import { truncate } from '../../src/text/terminal-text.ts'
import { Emulator } from '../support/emulator.ts'

const lines = (...texts: string[]): PaintedLine[] => texts.map((text) => painted(text))

function open(columns = 20, rows = 8): { readonly terminal: Emulator; readonly screen: Screen } {
  const terminal = new Emulator(columns, rows)
  return { terminal, screen: new Screen(terminal) }
}

/** Lines without the empty end of the screen. */
function seen({ everything }: Emulator): string[] {
  const end = everything.findLastIndex((line) => line !== '')
  return everything.slice(0, end + 1)
}

test('T1: printed lines stay above the region, which is replaced', () => {
  const { terminal, screen } = open()
  screen.draw(lines('one', 'two'))
  screen.draw(lines('one', 'TWO', 'three'), ['log 1'])
  screen.print(['log 2', 'a log line that is wider than the terminal'])
  assert.deepEqual(seen(terminal), [
    'log 1',
    'log 2',
    'a log line that is wider than the terminal',
    'one',
    'TWO',
    'three',
  ])
  screen.draw(lines('last'))
  assert.deepEqual(seen(terminal).slice(-2), ['a log line that is wider than the terminal', 'last'])
})

test('T2: unchanged lines are not written again, only changed ones', () => {
  const { terminal, screen } = open()
  screen.draw(lines('one', 'two', 'three'))
  const { writes } = terminal
  screen.draw(lines('one', 'two', 'three'))
  assert.equal(terminal.writes, writes)
  const written: string[] = []
  const spied = new Screen({ columns: 20, rows: 8, write: (text) => written.push(text) })
  spied.draw(lines('one', 'two', 'three'))
  spied.draw(lines('one', 'TWO', 'three'))
  assert.equal(written.length, 2)
  assert.match(written[1]!, /TWO/)
  assert.doesNotMatch(written[1]!, /one|three/)
})

test('T3: hidden, the cursor is visible at the start of an empty line and wrapping is on', () => {
  const { terminal, screen } = open()
  screen.draw(lines('one', 'two'))
  assert.equal(terminal.cursorVisible, false)
  assert.equal(terminal.wrap, true)
  screen.print(['kept'])
  screen.hide()
  assert.equal(terminal.cursorVisible, true)
  assert.deepEqual(terminal.cursor, { row: 1, column: 0 })
  assert.deepEqual(seen(terminal), ['kept'])
  screen.hide()
  screen.print(['more'])
  assert.deepEqual(seen(terminal), ['kept', 'more'])
  assert.equal(terminal.cursorVisible, true)
})

test('a line that fills the terminal keeps its last character when it changes', () => {
  const { terminal, screen } = open(5)
  screen.draw(lines('aaaaa', 'x'))
  screen.draw(lines('bbbbb', 'x'))
  assert.deepEqual(seen(terminal), ['bbbbb', 'x'])
})

test('a line that the terminal shows wider than we thought is cut, not wrapped', () => {
  const { terminal, screen } = open(5)
  screen.draw([painted('too wide', 'too'), painted('next')])
  assert.equal(seen(terminal)[1], 'next')
})

test('after forget() a new region begins below whatever is there', () => {
  const { terminal, screen } = open()
  screen.draw(lines('old'))
  terminal.write('\r\n[1]+ Stopped\r\n')
  screen.forget()
  screen.draw(lines('new'))
  assert.deepEqual(seen(terminal), ['old', '[1]+ Stopped', 'new'])
})

test('a narrower terminal that has wrapped the region gets it redrawn in place', () => {
  const { terminal, screen } = open(20, 12)
  screen.print(['log'])
  screen.draw(lines('a line of twenty ch.', 'short'))
  terminal.resize(8, 12)
  screen.draw(lines('narrow', 'short'))
  assert.deepEqual(seen(terminal), ['log', 'narrow', 'short'])
  terminal.resize(30, 12)
  screen.draw(lines('wide again', 'short'))
  assert.deepEqual(seen(terminal), ['log', 'wide again', 'short'])
})

test('T1, T3: after any drawing, printing, hiding and resizing the terminal shows the expected screen', () => {
  const word = fc
    .string({ unit: fc.constantFrom('a', 'b', ' ', '日', '🎉'), minLength: 1, maxLength: 30 })
    .map((text) => `x${text}x`)
  const action = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        type: fc.constant('draw' as const),
        lines: fc.array(word, { maxLength: 7 }),
        above: fc.array(word, { maxLength: 3 }),
      }),
    },
    fc.record({ type: fc.constant('print' as const), above: fc.array(word, { maxLength: 3 }) }),
    fc.record({ type: fc.constant('hide' as const) }),
    fc.record({ type: fc.constant('resize' as const), columns: fc.integer({ min: 4, max: 40 }) }),
  )
  fc.assert(
    fc.property(fc.array(action, { maxLength: 25 }), (actions) => {
      // High enough that no part of a region is ever pushed out: that one stays, and is a known limit.
      const terminal = new Emulator(20, 60)
      const screen = new Screen(terminal)
      const printed: string[] = []
      let region: string[] = []
      for (const one of actions) {
        if (one.type === 'draw') {
          region = one.lines.map((text) => truncate(text, terminal.columns))
          printed.push(...one.above)
          screen.draw(
            region.map((text) => painted(text)),
            one.above,
          )
        } else if (one.type === 'print') {
          // A live view redraws for the new size before it prints.
          region = region.map((text) => truncate(text, terminal.columns))
          screen.draw(
            region.map((text) => painted(text)),
            one.above,
          )
          printed.push(...one.above)
        } else if (one.type === 'hide') {
          region = []
          screen.hide()
        } else {
          terminal.resize(one.columns, 60)
          continue
        }
        assert.deepEqual(
          seen(terminal),
          [...printed, ...region].map((text) => text.trimEnd()),
        )
        assert.equal(terminal.cursorVisible, region.length === 0)
        assert.equal(terminal.wrap, true)
      }
    }),
    { numRuns: 500 },
  )
})
