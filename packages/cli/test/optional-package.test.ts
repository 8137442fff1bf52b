import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeMissing, missingPackage } from '../src/optional-package.ts'
import { readVersion } from '../src/own-version.ts'

function notFound(name: string): Error {
  const error = new Error(`Cannot find package '${name}' imported from /x/dist/execute.js`)
  return Object.assign(error, { code: 'ERR_MODULE_NOT_FOUND' })
}

test('a missing package of ours is recognised; that of another program is not', () => {
  assert.equal(missingPackage(notFound('@heddle/analyze')), '@heddle/analyze')
  assert.equal(missingPackage(notFound('lodash')), undefined)
  assert.equal(missingPackage(notFound('constructor')), undefined)
  assert.equal(missingPackage(new Error("Cannot find package '@heddle/analyze'")), undefined)
  assert.equal(missingPackage('text'), undefined)
  assert.equal(missingPackage(undefined), undefined)
})

test('the message names the command and the install command of the package manager in use', async () => {
  const version = await readVersion()
  const text = await describeMissing(
    '@heddle/release',
    'pnpm/12.18.0 npm/? node/v24.21.0 linux x64',
  )
  assert.equal(
    text,
    '`heddle release` is in the package @heddle/release, which is not installed.\n' +
      `        Install it: pnpm add --save-dev @heddle/release@${version}`,
  )
  for (const [agent, words] of [
    ['', 'npm install --save-dev'],
    ['npm/11.19.1 node/v24', 'npm install --save-dev'],
    ['yarn/4.1.0 npm/? node/v24', 'yarn add --dev'],
    ['bun/1.3.0', 'bun add --dev'],
    ['other/1', 'npm install --save-dev'],
  ] as const) {
    assert.ok(
      (await describeMissing('@heddle/analyze', agent)).includes(`: ${words} @heddle`),
      agent,
    )
  }
})
