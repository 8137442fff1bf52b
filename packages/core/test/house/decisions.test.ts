import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { files, read } from './tree.ts'

const numbers = files('docs/decisions/*.md').map((file) => path.basename(file).slice(0, 4))

/** Citations in code and pages: `docs/decisions/0033`, `decision 0061`. */
const citation = /(?:docs\/decisions\/|[Dd]ecisions? )(\d{4})/g

test('every decision that is cited exists', () => {
  let cited = 0
  for (const file of files(
    '{packages,bench,chaos,scripts,examples}/**/*.{ts,mjs,md}',
    'docs/**/*.md',
    '*.md',
  )) {
    for (const [, number] of read(file).matchAll(citation)) {
      cited++
      assert.ok(
        numbers.includes(number!),
        `${file} cites decision ${number}, which does not exist.`,
      )
    }
  }
  assert.ok(cited > 20)
})

test('no two decisions have the same number', () => {
  assert.deepEqual(numbers, [...new Set(numbers)])
})
