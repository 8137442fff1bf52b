/**
 * Every mechanism in every spelling: it is found, it is found with other names, and its repaired twin is
 * silent. A rule that fits one shape or one name fails here.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replaceNames } from '../../eval/noise.ts'
import type { Finding } from '../../src/index.ts'
import { homes, isWrittenAs, mechanisms, spell, styles } from '../support/mechanisms.ts'
import type { Home } from '../support/mechanisms.ts'
import { findIn, isComplete } from '../support/races.ts'

const unseen: readonly (readonly [mechanism: string, home: Home])[] = [
  // A listener on a local name of a handle is not followed to the field of an object that is passed as an argument.
  ['end of the old one hits the new one', 'parameter'],
  // A handle released through an argument object is not known to be used by other functions.
  ['work is registered while the rest is waited for', 'parameter'],
]

const isReported = ({ level }: Finding): boolean => level !== 'note'

function withOtherNames(source: string): string {
  return replaceNames(new Map([['/program/code.ts', source]])).texts.get('/program/code.ts')!
}

for (const mechanism of mechanisms) {
  for (const home of homes) {
    if (mechanism.notIn?.includes(home) === true) continue
    if (unseen.some(([name, where]) => name === mechanism.name && where === home)) continue
    test(`${mechanism.name}: ${home}`, async () => {
      for (const style of styles) {
        if (!isWrittenAs(mechanism, style)) continue
        const source = spell(mechanism, false, { home, style })
        for (const text of [source, withOtherNames(source)]) {
          const found = (await findIn(text)).filter(isReported)
          const right = found.filter((finding) => mechanism.classes.includes(finding.class))
          assert.notEqual(right.length, 0, `found with ${style}:\n${text}`)
          for (const finding of found) isComplete(finding)
        }
        const repaired = spell(mechanism, true, { home, style })
        const left = (await findIn(repaired)).filter(isReported)
        assert.deepEqual(
          left.map(({ message }) => message),
          [],
          `silent with ${style}:\n${repaired}`,
        )
      }
    })
  }
}
