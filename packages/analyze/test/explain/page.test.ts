import assert from 'node:assert/strict'
import { test } from 'node:test'
import { source } from '../../src/explain/page.ts'

test('code loses the indentation that it has in our file, and keeps its own', () => {
  assert.equal(
    source`
      if (a) {

        b('\n')
      }
    `,
    "if (a) {\n\n  b('\\n')\n}",
  )
})
