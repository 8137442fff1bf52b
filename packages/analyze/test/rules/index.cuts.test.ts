/**
 * Every mechanism, cut into several functions in every way: a race found in one function is found in two,
 * and the repaired twin stays silent.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Finding } from '../../src/index.ts'
import { cutMechanism, cuts } from '../support/cuts.ts'
import type { Cut } from '../support/cuts.ts'
import { homes, isWrittenAs, mechanisms, spell, styles } from '../support/mechanisms.ts'
import type { Home, Mechanism, Style } from '../support/mechanisms.ts'
import { findIn, isComplete } from '../support/races.ts'

interface Unseen {
  readonly cut: Cut
  readonly mechanisms: readonly string[]
  readonly homes?: readonly Home[]
  readonly styles?: readonly Style[]
}

const unseen: readonly Unseen[] = [
  // The value of the flag goes through a setter, and the continuation through another.
  { cut: 'setters', mechanisms: ['closed while opening'], styles: ['then', 'callback'] },
  { cut: 'getters', mechanisms: ['closing is not marked before it waits'] },
  // Uses of a handle, or of the function's own text, are judged in that function alone.
  {
    cut: 'act in a callee',
    mechanisms: [
      'alias used after close',
      'closing is not marked before it waits',
      'context of one call in shared state',
      'entry used after a wait in which it may be removed',
      'given up, and connected all the same',
      'mark cleared after the work',
      'owner is cleared by an older job',
      'part of an entry is registered after close',
      'second close does not wait for the first',
      'timer started after stop',
      'used after it was taken away',
    ],
  },
  {
    cut: 'act in a callee',
    mechanisms: ['closed while opening', 'work is registered while the rest is waited for'],
    homes: ['parameter'],
  },
  // Functions that suspend are known to their callers by a summary, without the order of their effects.
  {
    cut: 'wait and act in a callee',
    mechanisms: [
      'alias used after close',
      'context of one call in shared state',
      'emptied after sending',
      'entry used after a wait in which it may be removed',
      'given up, and connected all the same',
      'handed out before it is ready',
      'lost update of a list',
      'lost update of a number',
      'mark cleared after the work',
      'older answer over newer',
      'owner is cleared by an older job',
      'second close does not wait for the first',
      'stored after it was forgotten',
      'used after it was taken away',
    ],
  },
  {
    cut: 'wait in a callee',
    mechanisms: [
      'handed out before it is ready',
      'loser of a race leaks',
      'mark cleared after the work',
      'second close does not wait for the first',
      'work is registered while the rest is waited for',
    ],
  },
  // A predicate that answers with literals says nothing about the location it checks.
  {
    cut: 'check in a callee',
    mechanisms: [
      'entry used after a wait in which it may be removed',
      'mark cleared after the work',
      'used after it was taken away',
    ],
  },
]

function isUnseen(mechanism: Mechanism, cut: Cut, home: Home, style: Style): boolean {
  return unseen.some(
    (one) =>
      one.cut === cut &&
      one.mechanisms.includes(mechanism.name) &&
      one.homes?.includes(home) !== false &&
      one.styles?.includes(style) !== false,
  )
}

function isSpelled(cut: Cut, home: Home, style: Style): boolean {
  if (home === 'one function') return false
  // Functions over a parameter call something else as well, so they are neither getters nor setters.
  if (home === 'parameter' && (cut === 'getters' || cut === 'setters')) return false
  // A function with a name is found like one without: index.mechanisms.test.ts.
  if (style === 'named callback') return false
  // A callback does not get the function's result.
  return cut !== 'wait in a callee' || style !== 'callback'
}

const isReported = ({ level }: Finding): boolean => level !== 'note'

for (const whole of mechanisms) {
  for (const cut of cuts) {
    const mechanism = cutMechanism(whole, cut)
    if (mechanism === undefined) continue
    test(`${mechanism.name}: ${cut}`, async () => {
      for (const home of homes) {
        if (mechanism.notIn?.includes(home) === true) continue
        for (const style of styles) {
          if (!isWrittenAs(mechanism, style) || !isSpelled(cut, home, style)) continue
          const source = spell(mechanism, false, { home, style })
          if (!isUnseen(mechanism, cut, home, style)) {
            const found = (await findIn(source)).filter(isReported)
            const right = found.filter((finding) => mechanism.classes.includes(finding.class))
            assert.notEqual(right.length, 0, `found in ${home} with ${style}:\n${source}`)
            for (const finding of found) isComplete(finding)
          }
          const repaired = spell(mechanism, true, { home, style })
          const left = (await findIn(repaired)).filter(isReported)
          assert.deepEqual(
            left.map(({ message }) => message),
            [],
            `silent in ${home} with ${style}:\n${repaired}`,
          )
        }
      }
    })
  }
}
