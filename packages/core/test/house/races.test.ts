import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeOf, files, read } from './tree.ts'

/**
 * Races that are written by hand, and why a scope or waitFor() does not replace them. The loser of a race runs on and
 * is not awaited: each of these has a loser that holds nothing.
 */
const allowed = new Map([
  ['packages/release/src/pack/read-tarball.ts', 'two events of one parser'],
  ['packages/server/src/jobs/waiting.ts', 'an answer, and a timer that is cancelled'],
])

test('a race written by hand is on the list, with its reason', () => {
  const found = files('packages/*/src/**/*.{ts,tsx}').filter((file) =>
    /\bPromise\.race\(/.test(codeOf(file)),
  )
  assert.deepEqual(found, [...allowed.keys()].toSorted())
})

/** The lint rule looks at statements: `() => void this.#read()` is an expression. */
test('no callback drops the promise of an async method of its class', () => {
  const found: string[] = []
  for (const file of files('packages/{core,server,worker,cli,release}/src/**/*.ts')) {
    const code = codeOf(file)
    const names = [...code.matchAll(/^ {2}async (#?\w+)[(<]/gm)].map(([, name]) => name!)
    for (const name of names) {
      if (code.includes(`=> void this.${name}(`)) found.push(`${file}: ${name}`)
    }
  }
  assert.deepEqual(found, [])
  assert.match(read('.oxlintrc.json'), /"ignoreVoid": false/)
})
